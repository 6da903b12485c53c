"""TER's edits beside those of sacreBLEU, whose search they repeat: shifts, its limits, and the band of its matrix."""

import random

import pytest
from sacrebleu.metrics import lib_ter

from core.data import Item
from core.metrics import registry
from core.metrics.lexical import ter
from core.metrics.lexical.ter import TerReference
from core.progress import no_progress
from tests.bench.strings import perturbed


def both(output: str, reference: str) -> tuple[int, int]:
    words, others = output.split(), reference.split()
    return TerReference(others).edits(words), lib_ter.translation_edit_rate(words, others)[0]


def drawn(rng: random.Random, size: int, vocabulary: int) -> str:
    return " ".join(str(rng.randrange(vocabulary)) for _ in range(size))


def test_limits_are_those_of_sacrebleu() -> None:
    assert (ter.MAX_SHIFT_SIZE, ter.MAX_SHIFT_DISTANCE) == (lib_ter._MAX_SHIFT_SIZE, lib_ter._MAX_SHIFT_DIST)
    assert (ter.BEAM_WIDTH, ter.MAX_TRIED) == (lib_ter._BEAM_WIDTH, lib_ter._MAX_SHIFT_CANDIDATES)
    assert lib_ter._COST_INS == lib_ter._COST_DEL == lib_ter._COST_SUB == 1


def test_short_texts_have_the_edits_of_sacrebleu() -> None:
    rng = random.Random(0)
    for _ in range(300):
        output, reference = (drawn(rng, rng.randint(0, 9), rng.choice((2, 5, 9))) for _ in range(2))
        own, theirs = both(output, reference)
        assert own == theirs, (output, reference)


def test_moved_parts_are_counted_as_sacrebleu_counts_them() -> None:
    assert both("d e f a b c", "a b c d e f") == (1, 1)
    rng = random.Random(1)
    for size in (12, 20, 30, 45):
        reference = drawn(rng, size, 3 * size)
        own, theirs = both(perturbed(reference, rng), reference)
        assert own == theirs, reference


def test_texts_that_leave_the_band_have_the_edits_of_sacrebleu() -> None:
    rng = random.Random(2)
    long = drawn(rng, 60, 200)
    words = long.split()
    end = " ".join(words[-8:])
    for output, reference in (
        (end, long),
        (long, end),
        (" ".join(words[45:] + words[:15]), long),
        ("x", long),
        (long, "x y"),
        (drawn(rng, 3, 5), drawn(rng, 180, 5)),  # a band wider than usual
    ):
        own, theirs = both(output, reference)
        assert own == theirs, (output, reference)
    assert both(end, long) == (55, 55)  # the shortest way, of 52 edits, leaves the band


def test_the_search_ends_after_as_many_shifts(monkeypatch: pytest.MonkeyPatch) -> None:
    edits = {}
    for limit in (1000, 60):
        monkeypatch.setattr(lib_ter, "_MAX_SHIFT_CANDIDATES", limit)
        monkeypatch.setattr(ter, "MAX_TRIED", limit)
        edits[limit] = [both(drawn(rng, 16, 3), drawn(rng, 16, 3)) for rng in map(random.Random, range(12))]
        assert all(own == theirs for own, theirs in edits[limit])
    assert edits[1000] != edits[60]


@pytest.mark.extended
def test_many_texts_of_all_lengths_have_the_edits_of_sacrebleu() -> None:
    rng = random.Random(4)
    for _ in range(100):
        size = rng.choice((5, 15, 24, 25, 26, 40, 60, 90))
        reference = drawn(rng, size, rng.choice((3, size, 4 * size)))
        output = perturbed(reference, rng)
        if rng.random() < 0.5:
            output = perturbed(drawn(rng, rng.randint(0, 5), 9) + " " + output, rng)
        words = output.split()[rng.choice((0, 0, size // 3)) :][: rng.choice((size, 2 * size, size // 2))]
        own, theirs = both(" ".join(words), reference)
        assert own == theirs, (words, reference)


def test_ter_takes_the_nearest_reference_and_their_mean_length() -> None:
    [value] = registry.load_metric("ter").score([Item(None, "a b c", ("a b c d", "x y"))], no_progress)
    assert value.value == 100 * (1 / 3)
    empty, both_empty = registry.load_metric("ter").score([Item(None, "a", ("",)), Item(None, " ", ("",))], no_progress)
    assert (empty.value, both_empty.value) == (100.0, 0.0)
