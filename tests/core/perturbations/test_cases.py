"""The sentences of `cases.txt`, whose changes are known."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.core.perturbations.made import changes, edits

SECTIONS = [
    section.splitlines() for section in Path(__file__).with_name("cases.txt").read_text("utf-8").split("\n\n")[1:]
]
SEEDS = range(8)


@pytest.mark.parametrize("section", SECTIONS, ids=[lines[0] for lines in SECTIONS])
def test_rules_make_the_changes_that_are_known(section: list[str]) -> None:
    name, _, strength = section[0][1:].partition("]")[0].partition(" ")
    wrong = {}
    for line in section[1:]:
        text, _, results = line.replace("\\n", "\n").partition(" → ")
        if "≠" in line:
            text, _, kept = line.partition(" ≠ ")
            touched = {text[e.start : e.end].strip().lower() for seed in SEEDS for e in edits(name, text, 1.0, seed)}
            wrong[text] = touched & set(kept.split(", ")) or ("nothing is changed" if not touched else None)
        else:
            made = changes(name, text, float(strength or 1), SEEDS)
            expected = set() if results == "✗" else set(results.split(" | "))
            wrong[text] = None if made <= expected and bool(made) == bool(expected) else made
    assert {text: made for text, made in wrong.items() if made is not None} == {}
