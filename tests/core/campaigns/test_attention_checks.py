"""Attention checks: what is changed, where, and what finds it."""

import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.campaigns.attention_checks import (
    AttentionCheck,
    PlantedError,
    check_from_json,
    check_to_json,
    planted,
    stretch_length,
)
from core.data import Span
from core.text.words import words
from tests.paths import ROOT

ROWS = [json.loads(line) for line in (ROOT / "core/sample/segments.jsonl").read_text("utf-8").splitlines()]
OUTPUTS = [(row["doc_id"], row["source"], o["text"]) for row in ROWS for o in row["outputs"].values()]
ENGLISH = "The mayor did not see the old bridge. Twelve people crossed it on Monday, and nobody was hurt."
OTHERS = ("Those tomatoes taste much better with fresh basil. Grandmother always served soup before breakfast.",)
CHINESE = "今天天气很好，我们去公园散步。孩子们在湖边玩了一个下午，非常开心。"
OTHER_CHINESE = ("他昨天在北京买了一本很有意思的书，然后坐火车回家了。",)


def made(kind: str, text: str = ENGLISH, source: str | None = "…", others: tuple[str, ...] = OTHERS) -> PlantedError:
    found = (planted(text, source, Random(seed), others) for seed in range(200))
    return next(p for p in found if p is not None and p.kind == kind)


@pytest.mark.parametrize("n", range(0, len(OUTPUTS), 4))
def test_spans_quote_what_was_changed(n: int) -> None:
    doc, source, text = OUTPUTS[n]
    others = [t for d, _, t in OUTPUTS if d != doc]
    planted_error = planted(text, source, Random(n), others)
    assert planted_error.text != text
    for span in planted_error.spans:
        span.check(planted_error.text)
        assert span.quote == span.quote.strip()
        assert span.severity == "Major"
    kept = "".join(planted_error.text[a:b] for a, b in gaps(planted_error))
    assert is_subsequence("".join(kept.split()), text)


def gaps(p: PlantedError) -> list[tuple[int, int]]:
    """Return the ranges outside the planted spans."""
    edges = [0, *(x for s in p.spans for x in (s.start, s.end)), len(p.text)]
    return list(zip(edges[::2], edges[1::2], strict=True))


def is_subsequence(short: str, long: str) -> bool:
    rest = iter(long)
    return all(char in rest for char in short)


@given(st.lists(st.sampled_from("ab cd ef gh ij kl mn op qr, st. uv\n".split(" ")), max_size=40), st.integers(0, 999))
def test_any_text_keeps_its_rest_when_words_are_replaced(tokens: list[str], seed: int) -> None:
    text = " ".join(tokens)
    planted_error = planted(text, None, Random(seed), OTHERS)
    if planted_error is None:
        return
    assert len(planted_error.spans) == 1
    start, end = planted_error.spans[0].start, planted_error.spans[0].end
    planted_error.spans[0].check(planted_error.text)
    assert text.startswith(planted_error.text[:start].rstrip(" "))
    assert text.endswith(planted_error.text[end:])


def test_the_same_seed_gives_the_same_error() -> None:
    def at(seed: int) -> PlantedError | None:
        return planted(ENGLISH, "…", Random(seed), OTHERS)

    assert all(at(seed) == at(seed) for seed in range(10))
    assert len({at(seed) for seed in range(10)}) > 3


def test_without_a_source_errors_show_in_the_output() -> None:
    kinds = {p.kind for seed in range(60) if (p := planted(ENGLISH, None, Random(seed), OTHERS))}
    assert kinds == {"addition", "replacement"}


def test_without_other_documents_words_are_shuffled() -> None:
    text = "Der Stadtrat von Ahrfelden beschloss am Dienstag die Sanierung"
    planted_error = planted(text, None, Random(1))
    assert planted_error.kind == "jumble"
    assert sorted(planted_error.text.split()) == sorted(text.split())


def test_scripts_without_spaces_get_no_spaces() -> None:
    for kind in ("addition", "replacement"):
        planted_error = made(kind, CHINESE, None, OTHER_CHINESE)
        assert " " not in planted_error.text
        assert planted_error.spans[0].quote in OTHER_CHINESE[0]


@pytest.mark.parametrize("text", ["", "  ", "Oui.", "!!!", "🐦"])
def test_texts_that_are_too_short_get_no_check(text: str) -> None:
    assert planted(text, "x", Random(0), OTHERS) is None


def test_a_quarter_of_the_words_is_replaced() -> None:
    assert [stretch_length(n) for n in (1, 5, 8, 15, 20, 40)] == [1, 2, 3, 4, 5, 10]
    planted_error = made("replacement")
    assert len(words(planted_error.spans[0].quote)) == stretch_length(len(words(ENGLISH)))


def mark(start: int, end: int, side: str = "output") -> Span:
    return Span(side, start, end, "", "Minor", "x")  # type: ignore[arg-type]


def test_an_overlapping_error_span_finds_it() -> None:
    planted_error = PlantedError("number", "It has nine lives", (Span("output", 7, 11, "nine", "Major", "x"),))
    assert planted_error.found_by([mark(10, 17)])
    assert not planted_error.found_by([mark(11, 17)])
    assert not planted_error.found_by([mark(0, 7), mark(7, 11, "source")])
    assert not planted_error.found_by([])


def test_an_omission_is_found_at_its_place_or_in_the_source() -> None:
    omission = PlantedError("omission", "It is late. Good night.", (Span("output", 11, 11, "", "Major", "x"),))
    assert omission.found_by([mark(6, 10)])
    assert omission.found_by([mark(12, 16)])
    assert omission.found_by([mark(0, 3, "source")])
    assert not omission.found_by([mark(0, 5), mark(17, 22)])


@pytest.mark.parametrize("kind", ["negation", "number", "addition", "replacement", "omission"])
def test_the_details_of_a_unit_keep_the_check_of_every_kind(kind: str) -> None:
    check = AttentionCheck(made(kind), "A", "B", "u7")
    assert check.planted.spans
    stored = json.loads(json.dumps(check_to_json(check)))
    assert check_from_json(stored) == check
