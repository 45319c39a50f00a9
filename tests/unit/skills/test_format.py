# ruff: noqa: E501
"""SKILL.md: what the writer writes the reader reads back, and the reader forgives what people and tools produce."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from metaclaw.skills import BadName, Document, FormatError
from metaclaw.skills.format import CATEGORIES, check_name, read, write

from .shelf import document

LINE = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1, max_size=200).map(
    lambda text: " ".join(text.split())
)
WORDS = LINE.filter(bool)
BODY = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\r\x00"), max_size=600).map(
    lambda text: text.strip("\n")
)
NAMES = st.from_regex(r"[a-z0-9]{1,8}(-[a-z0-9]{1,8}){0,3}", fullmatch=True).filter(
    lambda name: name not in ("con", "prn", "aux", "nul") and name[:3] not in ("com", "lpt")
)
KEYS = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,20}", fullmatch=True).filter(lambda key: key != "category")
DOCUMENTS = st.builds(
    Document,
    name=NAMES,
    description=WORDS.filter(lambda text: text.isprintable()),
    body=BODY.filter(lambda text: bool(text.strip())),
    category=st.sampled_from(CATEGORIES),
    license=st.just("") | WORDS,
    compatibility=st.just("") | WORDS,
    allowed_tools=st.just("") | WORDS,
    metadata=st.dictionaries(KEYS, WORDS, max_size=4),
)


@given(DOCUMENTS)
def test_what_is_written_reads_back_the_same(doc: Document) -> None:
    back = read(write(doc), doc.name)
    assert back == doc
    assert back.problems == ()


@given(DOCUMENTS)
def test_other_yaml_readers_read_the_same_front_matter(doc: Document) -> None:
    header = write(doc).decode().split("\n---\n")[0].removeprefix("---\n")
    fields = YAML(typ="safe", pure=True).load(header)
    assert fields["name"] == doc.name
    assert fields["description"] == doc.description
    assert fields["metadata"] == {"category": doc.category, **doc.metadata}


@given(
    st.binary(max_size=400), st.sampled_from([b"", b"---\n", b"---\nname: x\ndescription: y\n---\n", b"\xef\xbb\xbf"])
)
def test_any_bytes_are_read_or_refused_in_one_way(tail: bytes, head: bytes) -> None:
    try:
        doc = read(head + tail, "some-skill")
    except FormatError:
        return
    assert doc.name == "some-skill" and doc.description and doc.body.strip()


@given(st.text(max_size=80))
def test_a_name_that_passes_is_one_plain_folder_name(name: str) -> None:
    try:
        assert check_name(name) == name
    except BadName:
        return
    assert name.isascii() and not set(name) & set("/\\.:%~ \x00") and name == name.lower()


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../x", "a/b", "a\\b", "-a", "a-", "a--b", "A", "con", "nul", "lpt1", "a b", "é", "a" * 65, "a\n",
     "c:", "~", "$HOME", "a\x00b", "skill.md", "日本語"],
)  # fmt: skip
def test_hostile_names_are_refused(name: str) -> None:
    with pytest.raises(BadName):
        check_name(name)


def test_a_byte_order_mark_and_windows_line_ends_are_forgiven() -> None:
    data = b"\xef\xbb\xbf---\r\nname: a\r\ndescription: Does it.\r\ncategory: coding\r\n---\r\n\r\nOne\r\nTwo\r\n"
    doc = read(data, "a")
    assert (doc.description, doc.category, doc.body) == ("Does it.", "coding", "One\nTwo")
    assert doc.problems == ()


def test_utf16_with_a_mark_is_read() -> None:
    assert read("---\nname: a\ndescription: 说明\n---\n正文".encode("utf-16"), "a").body == "正文"


def test_colons_in_a_description_do_not_break_it() -> None:
    doc = read(b"---\nname: a\ndescription: Use when: the build fails: always\nlicense: MIT\n---\nDo.", "a")
    assert doc.description == "Use when: the build fails: always"
    assert doc.license == "MIT"


def test_block_and_folded_descriptions_are_read() -> None:
    doc = read(b"---\nname: a\ndescription: >-\n  one\n  two\nmetadata:\n  category: research\n  v: 1.0\n---\nDo.", "a")
    assert (doc.description, doc.category, dict(doc.metadata)) == ("one two", "research", {"v": "1.0"})


def test_allowed_tools_may_be_a_list() -> None:
    assert (
        read(b"---\nname: a\ndescription: d\nallowed-tools:\n- Read\n- Bash\n---\nDo.", "a").allowed_tools
        == "Read Bash"
    )


def test_a_file_without_front_matter_is_described_by_its_first_sentence() -> None:
    doc = read(b"# Title\n\nAlways say please. Then thanks.", "manners")
    assert doc.description == "Always say please."
    assert doc.problems


def test_front_matter_that_never_ends_ends_where_the_text_begins() -> None:
    doc = read(b"---\nname: a\ndescription: d e f\n# Body\n\ntext", "a")
    assert (doc.description, doc.body) == ("d e f", "# Body\n\ntext")


def test_the_folder_names_the_skill() -> None:
    doc = read(b"---\nname: ../../etc/passwd\ndescription: d\n---\nDo.", "safe")
    assert doc.name == "safe" and "folder" in doc.problems[0]


def test_aliases_cannot_blow_a_file_up() -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x]\n" + "".join(
        f"{c}: &{c} [*{p},*{p},*{p},*{p},*{p}]\n" for p, c in zip("abcdefg", "bcdefgh", strict=True)
    )
    assert read(f"---\n{bomb}description: d\n---\nDo.".encode(), "a").description == "d"


@pytest.mark.parametrize("data", [b"", b"---\nname: a\n---\n", b"\xff\xfe\xff", b"\x80abc", b"a\x00b", b"x" * 300_000])
def test_what_cannot_be_used_is_refused_with_a_reason(data: bytes) -> None:
    with pytest.raises(FormatError, match="file"):
        read(data, "a")


@pytest.mark.parametrize(
    "changes",
    [{"name": "../x"}, {"description": ""}, {"description": "x" * 1025}, {"description": "two\nlines"}, {"body": " \n "},
     {"compatibility": "x" * 501}, {"category": "Two Words"}, {"metadata": {"a b": "c"}}, {"metadata": {"a": ""}},
     {"body": "\ud800"}, {"body": "x" * 300_000}, {"body": "a\r\nb"}],
)  # fmt: skip
def test_the_writer_is_strict(changes: dict[str, object]) -> None:
    with pytest.raises((FormatError, BadName)):
        write(document(**changes))
