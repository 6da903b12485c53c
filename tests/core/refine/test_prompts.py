"""Prompts on both sides, and lists of them in a file."""

import json
from pathlib import Path

import pytest

from core.errors import UserError
from core.refine.prompts import conditioned, from_file, known_lists, listed, load_lists, scored, with_digest
from core.refine.result import Options, digest, prompt_fact
from tests.paths import DATA

SHARED = DATA / "bartscore_prompts.json"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "prompts.json"
    path.write_text(json.dumps({"short": [" In short ", "In brief", "In brief"], "mine": ["Was heißt:"]}), "utf-8")
    monkeypatch.setenv("ERRORSCOPE_PROMPTS", str(path))
    return path


def test_a_prompt_ends_what_is_read_or_begins_what_is_scored() -> None:
    # METHODS section 1: encoder: " {prompt}," appended to the condition; decoder: "{prompt}, " before the scored text
    assert conditioned("The cat.", "Such as", "encoder") == "The cat. Such as,"
    assert scored("A cat.", "Such as", "encoder") == "A cat."
    assert conditioned("The cat.", "Such as", "decoder") == "The cat."
    assert scored("A cat.", "Such as", "decoder") == "Such as, A cat."


def test_empty_texts_and_empty_prompts_are_texts_too() -> None:
    assert conditioned("", "Such as", "encoder") == " Such as,"
    assert scored("", "Such as", "decoder") == "Such as, "
    assert [conditioned("x", "", "encoder"), scored("x", "", "decoder")] == ["x", "x"]


def test_lists_are_read_without_blanks_and_repetitions(file: Path) -> None:
    assert load_lists(file) == {"short": ("In short", "In brief"), "mine": ("Was heißt:",)}


def test_a_file_adds_to_the_built_in_list(file: Path) -> None:
    assert known_lists() == {"mt": ("Such as",), "short": ("In short", "In brief"), "mine": ("Was heißt:",)}


def test_a_file_that_changes_is_read_again(file: Path) -> None:
    assert listed("mine") == ("Was heißt:",)
    file.write_text('{"mine": ["anders"]}', "utf-8")
    assert listed("mine") == ("anders",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not a JSON"),
        ('["a"]', "no prompt lists"),
        ('{"a": "b"}', "list “a”.*no phrases"),
        ('{"a": []}', "no phrases"),
        ('{"a": ["b", 3]}', "phrase 2.*got 3"),
        ('{"a": ["  "]}', "phrase 1"),
        ('{"a": ["b\\nc"]}', "one line"),
        ('{"a": ["\\ud800"]}', "half a surrogate pair"),
        ('{"a|b": ["c"]}', "not allowed"),
    ],
)
def test_a_bad_file_is_answered_with_the_place(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "p.json"
    path.write_text(content, "utf-8")
    with pytest.raises(UserError, match=message):
        load_lists(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERRORSCOPE_PROMPTS", str(tmp_path / "none.json"))
    with pytest.raises(UserError, match=r"none\.json.*cannot be read"):
        known_lists()


def test_a_list_of_a_file_is_written_with_its_name(file: Path) -> None:
    assert from_file(f"{file}:mine") == ("Was heißt:",)
    assert from_file("mt") == ("Such as",)
    with pytest.raises(UserError, match="Did you mean short"):
        from_file(f"{file}:shrot")


def test_phrases_are_found_again_by_their_digest(file: Path) -> None:
    short = listed("short")
    assert with_digest(2, digest(short)) == short
    with pytest.raises(UserError, match="cannot be found"):
        with_digest(3, digest(short))


def test_a_signature_has_one_phrase_in_full_and_several_by_digest() -> None:
    assert prompt_fact((), "decoder") == "none"
    assert prompt_fact(("Such as",), "encoder") == "encoder(Such as)"
    # python -c "import hashlib; print(hashlib.sha256(b'In short\nIn brief').hexdigest()[:8])"
    assert prompt_fact(("In short", "In brief"), "decoder") == "decoder(2 phrases 9463fdb6)"
    assert "|" not in prompt_fact(("a|b",), "encoder")
    assert prompt_fact(("a|b",), "encoder") != prompt_fact(("a/b",), "encoder")


def test_the_signature_of_default_options_is_unchanged() -> None:
    assert Options().facts() == {"nt": "overlap0.2+prob0.7", "k": 10, "rounds": "half", "prompt": "none"}


@pytest.mark.skipif(not SHARED.exists(), reason="needs ../shared/data/bartscore_prompts.json")
def test_the_lists_of_bartscore_are_read() -> None:
    lists = load_lists(SHARED)
    assert {name: len(phrases) for name, phrases in lists.items()} == {
        "mt": 1,
        "data_to_text": 70,
        "summarization_source_to_hypothesis": 70,
        "summarization_hypothesis_to_reference": 34,
    }
    assert lists["mt"] == ("Such as",)
