"""Sensitivity of metrics of known behaviour, of string metrics, and of BARTScore++ at a λ."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.data import Item, Value
from core.errors import UserError
from core.formats.error_cases import PerturbedPair, read_pairs
from core.formats.files import file_at
from core.metrics import registry
from core.progress import Cancelled
from core.scoring.values import ScoringProgress
from core.services.evaluate.sensitivity import SensitivityRow, score_pairs, sensitivity_table
from tests.builders import counting_metric, stop_when
from tests.paths import DATA

MENLI = DATA / "menli_wmt20_de_adversarial.csv.gz"
WORDS = "one two three four five six seven eight nine ten"


def recall(item: Item) -> Value:
    """The share of reference words that the output has."""
    return Value(sum(w in item.hypothesis.split() for w in WORDS.split()) / 10)


def dropped(n: int) -> str:
    return " ".join(WORDS.split()[n:])


def by_type(rows: list[SensitivityRow]) -> dict[str, SensitivityRow]:
    return {row.type: row for row in rows}


def test_word_recall_has_the_z_of_the_share_of_missing_words() -> None:
    pairs = [PerturbedPair("one", (WORDS,), WORDS, dropped(1)), PerturbedPair("three", (WORDS,), WORDS, dropped(3))]
    pairs += [PerturbedPair("three", (WORDS,), dropped(5), dropped(6))]  # 1 of the 5 words that were there
    rows = by_type(sensitivity_table(pairs, score_pairs(pairs, [counting_metric(of=recall)])))
    assert rows["one"].z == pytest.approx(0.1)
    assert rows["three"].z == pytest.approx((0.3 + 0.2) / 2)
    assert (rows["three"].accuracy, rows["three"].compared) == (1.0, 2)
    assert rows["one"].reason.startswith("z: an interval needs")


def test_a_lower_is_better_metric_has_the_same_sign() -> None:
    # two of ten words wrong: TER 0 → 20, and 100 for an empty output: (0 − 20) / (0 − 100)
    pairs = [PerturbedPair("swap", (WORDS,), WORDS, WORDS.replace("one", "uno").replace("two", "due"))]
    (row,) = sensitivity_table(pairs, score_pairs(pairs, [registry.load_metric("ter")]))
    assert row.z == pytest.approx(0.2)
    assert (row.accuracy, row.empty_better) == (1.0, 0)


def test_equal_texts_are_scored_once() -> None:
    seen: list[Item] = []
    pairs = [PerturbedPair(t, ("r",), "good", bad) for t, bad in (("a", "bad"), ("b", "worse"), ("b", "bad"))]
    score_pairs(pairs, [counting_metric(seen=seen)])
    assert sorted(item.hypothesis for item in seen) == ["", "bad", "good", "worse"]


def test_another_empty_output_may_be_taken_and_is_signed() -> None:
    # by length: (4 − 3) / (4 − 1) where the full stop counts one
    pairs = [PerturbedPair("t", ("r",), "four", "thr")]
    (row,) = sensitivity_table(pairs, score_pairs(pairs, [counting_metric()], empty="."), seed=5)
    assert row.z == pytest.approx(1 / 3)
    assert row.signature == "length|v:1|z:1|near0:0.01|empty:'.'|draws:1000|seed:5"


def distances(item: Item) -> Value:
    explicit, implicit = {"good": (0.1, 0.5), "bad": (0.9, 0.7), "": (2.1, 4.5)}[item.hypothesis]
    return Value(-(explicit + implicit) / 2, parts={"dist_exp": explicit, "dist_imp": implicit})


@pytest.mark.parametrize(
    ("lam", "z"),
    [
        (0.0, 0.2 / 4.0),  # implicit only: (0.7 − 0.5) / (4.5 − 0.5)
        (1.0, 1.0 / 6.0),  # both: (0.8 + 0.2) / (2 + 4)
        (3.0, (0.75 * 0.8 + 0.25 * 0.2) / (0.75 * 2 + 0.25 * 4)),
        (float("inf"), 0.8 / 2.0),  # explicit only
    ],
)
def test_changing_lambda_scores_nothing_again(lam: float, z: float) -> None:
    seen: list[Item] = []
    metric = replace(counting_metric("pp", distances, seen=seen), signature=lambda: "pp|lambda:1|v:1")
    pairs = [PerturbedPair("t", ("r",), "good", "bad")]
    scored = score_pairs(pairs, [metric])
    (row,) = sensitivity_table(pairs, scored, lam=lam)
    assert row.z == pytest.approx(z)
    assert row.signature.startswith(f"pp|lambda:{'inf' if lam > 3 else int(lam)}|v:1|z:1|")
    assert len(seen) == 3


@pytest.mark.models
def test_bartscore_pp_at_lambda_1_equals_bartscore() -> None:
    # Dist_exp + Dist_imp = B(r, r) − B(y, r), whatever the refinement: half of it is BARTScore but for a constant
    good = "The cat sat on the mat."
    pairs = [PerturbedPair("t", (good,), "The cat was sitting on the mat.", "The dog was sitting on the mat.")]
    plain, weighed = sensitivity_table(pairs, score_pairs(pairs, registry.chosen(["bartscore", "bartscore++"])))
    assert plain.z is not None
    assert plain.z > 0.01
    assert weighed.z == pytest.approx(plain.z, abs=1e-4)


@pytest.mark.parametrize("lam", [-1.0, float("nan")])
def test_a_lambda_that_is_none_is_refused(lam: float) -> None:
    with pytest.raises(UserError, match="λ"):
        sensitivity_table([], [], lam=lam)


def test_unscored_texts_are_counted_with_the_reason() -> None:
    def picky(item: Item) -> Value:
        return Value(None, "undefined", "nothing to read") if not item.hypothesis else Value(1.0)

    def broken(item: Item) -> Value:
        raise ZeroDivisionError

    pairs = [PerturbedPair("t", ("r",), "good", "bad"), PerturbedPair("t", (), "good", "bad")]
    metrics = [counting_metric("picky", picky, needs=frozenset({"reference"})), counting_metric("broken", broken)]
    picked, failed, length = sensitivity_table(pairs, score_pairs(pairs, [*metrics, counting_metric("length")]))
    assert (picked.pairs, picked.n, picked.z, picked.undefined, picked.compared) == (2, 0, None, 2, 1)
    assert "1 × empty text: nothing to read" in picked.reason
    assert "1 × good text: picky needs a reference" in picked.reason
    assert (failed.n, failed.z, failed.accuracy) == (0, None, None)
    assert "ZeroDivisionError" in failed.reason
    assert (length.n, length.z) == (2, 0.25)


def test_progress_counts_distinct_texts_and_may_cancel() -> None:
    told: list[ScoringProgress] = []

    def tell(doing: ScoringProgress) -> None:
        told.append(doing)

    pairs = [PerturbedPair("t", ("r",), "good", "bad"), PerturbedPair("t", ("s",), "good", "bad")]
    score_pairs(pairs, [counting_metric("a"), counting_metric("b")], tell)
    assert (told[-1].done, told[-1].total) == (12, 12)  # 2 references × 3 texts × 2 metrics
    with pytest.raises(Cancelled):
        score_pairs(pairs, [counting_metric()], stop_when(lambda at: at.done >= 3))


@pytest.mark.skipif(not MENLI.exists(), reason="../shared/data/menli_wmt20_de_adversarial.csv.gz is not here")
def test_chrf_has_a_z_for_all_twelve_menli_errors() -> None:
    pairs = read_pairs([file_at(MENLI)]).pairs
    rows = sensitivity_table(pairs, score_pairs(pairs, [registry.load_metric("chrf")]), draws=200)
    assert len(rows) == 12
    for row in rows:
        assert (row.pairs, row.n, row.undefined, row.compared) == (200, 200, 0, 200)
        assert row.z is not None
        assert row.z_low is not None
        assert row.z_high is not None
        assert row.z_low < row.z < row.z_high
    # the good text is a paraphrase, the perturbed one nearly the reference: overlap prefers the error, but for jumbled words
    assert [row.type for row in rows if (row.z or 0) > 0] == ["jumble"]
