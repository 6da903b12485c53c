"""Pairs for the bundled entailment model: their labels, what is kept out, and that a seed gives the same file."""

import re
from pathlib import Path
from random import Random

import pytest

from core.perturbations import registry
from tools import nli_pairs
from tools.nli_pairs import RULES, NliPair, Sources, held_out
from tools.paraphrases import reword, spoken

SENTENCES = [
    "In 2010, the government approved 35 new projects in Spain.",
    "The minister said that he would not support the new law on taxes.",
    "John Smith sold his old house in London because he needed the money.",
    "Although prices increased by 12% last year, many people bought a large car.",
    "She quickly finished the report and sent it to the company.",
    "The company has opened a new factory in the north of the country.",
    "He was born in Illinois, but his family moved to Oklahoma in 1949.",
    "The team won the final match, which took place in Rome.",
]
TRANSLATIONS = [
    ("The old bridge was closed for repairs on Monday.", "The old bridge was shut on Monday for repairs."),
    ("The old bridge was closed for repairs on Monday.", "On Monday it is of bridges repair the closing."),
    ("He paid 300 euros for the new ticket.", "He paid 500 euros for the new ticket."),
    ("They do not want to leave the city.", "They want to leave the city."),
]


@pytest.fixture(scope="module")
def rows() -> list[NliPair]:
    return list(nli_pairs.made(Sources(SENTENCES, TRANSLATIONS, set()), seed=1))


def test_the_probabilities_of_every_rule_sum_to_one() -> None:
    for rule in RULES.values():
        assert sum(rule.forward) == pytest.approx(1)
        assert sum(rule.back) == pytest.approx(1)


def test_every_phenomenon_of_the_published_suite_has_a_rule() -> None:
    assert set(registry.MENLI) <= set(RULES)


def test_a_lost_phrase_follows_one_way_and_is_open_the_other(rows: list[NliPair]) -> None:
    found = [row for row in rows if row.kind == "omission"]
    assert found
    for row in found:
        longer = len(row.premise) > len(row.hypothesis)
        assert row.target == ((1, 0, 0) if longer else (0, 1, 0))


def test_what_denies_or_counts_otherwise_contradicts_both_ways(rows: list[NliPair]) -> None:
    found = [row for row in rows if row.kind in ("negation", "number", "name")]
    assert {row.kind for row in found} == {"negation", "number", "name"}
    assert all(row.target == (0, 0, 1) and row.premise != row.hypothesis for row in found)


def test_other_numbers_or_negation_are_no_paraphrase() -> None:
    sources = Sources(SENTENCES, TRANSLATIONS, set())
    assert sources.near == {TRANSLATIONS[0][0]: TRANSLATIONS[0][1]}


def test_texts_of_an_evaluation_suite_are_kept_out() -> None:
    sources = Sources(SENTENCES, TRANSLATIONS, {SENTENCES[0], TRANSLATIONS[0][0]})
    found = {text for row in nli_pairs.made(sources, seed=1) for text in row[:2]}
    assert found
    assert not found & {SENTENCES[0], TRANSLATIONS[0][0]}


def test_a_seed_gives_the_same_file_and_another_seed_another(tmp_path: Path) -> None:
    files = []
    for i, seed in enumerate((1, 1, 2)):
        files.append(tmp_path / f"{i}.tsv.gz")
        nli_pairs.write(files[-1], nli_pairs.made(Sources(SENTENCES, TRANSLATIONS, set()), seed))
    assert files[0].read_bytes() == files[1].read_bytes() != files[2].read_bytes()


def test_a_file_reads_back_as_it_was_written(rows: list[NliPair], tmp_path: Path) -> None:
    assert nli_pairs.write(tmp_path / "m.tsv.gz", rows) == len(rows)
    assert nli_pairs.read_made(tmp_path / "m.tsv.gz") == rows


def test_one_source_text_in_fifty_is_held_out_by_its_hash() -> None:
    share = sum(held_out(f"sentence {i}") for i in range(5000)) / 5000
    assert share == pytest.approx(1 / 50, abs=0.006)  # three standard deviations: 3 · √(0.02 · 0.98 / 5000)


def test_numbers_are_spoken_in_words() -> None:
    assert [spoken(n) for n in (0, 13, 20, 65, 100, 342)] == [
        "zero", "thirteen", "twenty", "sixty-five", "one hundred", "three hundred and forty-two",
    ]  # fmt: skip


def test_a_rewording_keeps_the_numbers_and_what_is_denied() -> None:
    for text in (*SENTENCES, "Section 4.2.1 of the 29-0 game is £35.50, or 65% of 300,000."):
        for seed in range(8):
            new = reword(text, Random(seed))
            assert sorted(spoken_digits(text)) == sorted(spoken_digits(new)), new
            assert denied(text) == denied(new), new


def denied(text: str) -> bool:
    words = re.findall(r"[a-z']+", text.lower().replace("’", "'"))
    denials = {"not", "no", "never", "none", "nobody", "nothing", "neither", "nor", "without", "cannot", "hardly"}
    return sum(word in denials or word.endswith("n't") for word in words) % 2 == 1


def spoken_digits(text: str) -> list[str]:
    """Every number of the sentences above, whether in digits or in words, in digits."""
    for number in (35, 65, 12):
        text = text.replace(spoken(number), str(number))
    return [c for c in text if c.isdigit()]
