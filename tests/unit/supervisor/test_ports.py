"""Who holds a port."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

from metaclaw.supervisor import Holder, holder, is_free


def test_a_free_port_is_free_and_has_no_holder(free_port: int) -> None:
    assert is_free("127.0.0.1", free_port)
    assert holder(free_port) is None


def test_a_listening_port_names_its_program() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        found = holder(port)
        assert not is_free("127.0.0.1", port)
        assert found is not None
        assert found.pid == os.getpid()


def test_a_port_in_time_wait_counts_as_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)):
            accepted, _ = server.accept()
            accepted.close()
    assert is_free("127.0.0.1", port)


def test_arguments_of_the_holder_are_not_shown_but_the_script_is() -> None:
    code = (
        "import socket, sys; s = socket.create_server(('127.0.0.1', 0));"
        "print(s.getsockname()[1], flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, "--api-key=sk-secret"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as program:
        assert program.stdout is not None
        port = int(program.stdout.readline())
        shown = str(holder(port))
        program.communicate(b"")
    assert f"(pid {program.pid})" in shown
    assert "secret" not in shown


def test_a_holder_that_the_system_hides_is_said_to_be_hidden() -> None:
    assert "administrator" in str(Holder())
