"""A program that writes to a journal until it is killed, and says on its output what it was told is written.

Run with the journal's URL and a name. One line for each acknowledged turn: session, turn number, how many messages.
"""

from __future__ import annotations

import os
import sys
import threading

from metaclaw.journal import Journal
from tests.unit.journal.sample import Talk


def speak(journal: Journal, name: str) -> None:
    """One session: a turn is begun once the one before it is acknowledged; every third takes two calls."""
    talk = Talk(name)
    for number in range(1, 1_000_000):
        if number % 3 == 0:
            journal.append(talk.call(("user", f"question {number}"), final=False)).result()
            call = talk.call(("assistant", "answer"), new_turn=False)
        else:
            call = talk.exchange(f"question {number}")
        future = journal.append(call)
        future.result()
        os.write(1, f"{name} {number} {len(talk.said)}\n".encode())


def main() -> None:
    """Speak in four sessions at once."""
    journal = Journal.open(sys.argv[1])
    for number in range(4):
        threading.Thread(target=speak, args=(journal, f"{sys.argv[2]}-{number}")).start()


if __name__ == "__main__":
    main()
