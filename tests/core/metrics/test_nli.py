"""NLI metrics: the 15 pooling strategies by hand, directions, long texts, and specs; entailment against the model's probabilities."""

from pathlib import Path

import numpy as np
import pytest

from core.data import Item
from core.errors import UserError
from core.metrics import registry
from core.metrics.entailment.nli import FORMULAS, STRATEGIES, bounds, pooled, supported
from core.models.architectures import nli
from core.progress import Progress, no_progress
from tests import tiny_checkpoints as tiny

ITEM = Item("die Katze", "the cat sat", ("the cat sat on the mat", "a red dog"))
LONG = "The cat sat on the mat. A red dog ran. " * 12


pytestmark = pytest.mark.usefixtures("tiny_models")


def said(premise: str, hypothesis: str) -> np.ndarray:
    return nli.nli().judged([(premise, hypothesis)]).values[0]


def test_the_fifteen_strategies_are_the_hand_computed_ones() -> None:
    """Forward e, n, c = .7, .2, .1; backward .3, .3, .4; so both ways .5, .25, .25 (MENLI, section 4.3)."""
    shares = np.array([[0.7, 0.2, 0.1], [0.3, 0.3, 0.4]])
    expected = {
        "forward": {"e": 0.7, "-c": -0.1, "e-n": 0.5, "e-c": 0.6, "e-n-2c": 0.3},
        "backward": {"e": 0.3, "-c": -0.4, "e-n": 0.0, "e-c": -0.1, "e-n-2c": -0.8},
        "both": {"e": 0.5, "-c": -0.25, "e-n": 0.25, "e-c": 0.25, "e-n-2c": -0.25},
    }
    assert len(STRATEGIES) == 15
    for direction, formula in STRATEGIES:
        assert pooled(shares, direction, formula) == pytest.approx(expected[direction][formula], abs=1e-12)


def test_a_direction_that_was_not_asked_is_not_needed() -> None:
    shares = np.array([[0.7, 0.2, 0.1], [np.nan] * 3])
    assert pooled(shares, "forward", "e-c") == pytest.approx(0.6)
    assert np.isnan(pooled(shares, "both", "e"))


@pytest.mark.parametrize(
    ("formula", "low", "high"), [("e", 0, 1), ("-c", -1, 0), ("e-n", -1, 1), ("e-c", -1, 1), ("e-n-2c", -2, 1)]
)
def test_each_formula_declares_the_range_it_has(formula: str, low: float, high: float) -> None:
    corners = [pooled(np.array([corner, corner]), "both", formula) for corner in np.eye(3)]
    assert (
        (min(corners), max(corners))
        == bounds(formula)
        == registry.load_metric(f"nli|formula:{formula}").spec.range
        == (low, high)
    )


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("name", ["nli", "nli-src"])
def test_every_option_pools_the_models_probabilities(name: str, formula: str) -> None:
    anchors = ITEM.references if name == "nli" else (ITEM.source or "",)
    word = "reference" if name == "nli" else "source"
    for direction, written in (("forward", f"{word}-output"), ("backward", f"output-{word}"), ("both", "both")):
        both = [np.array([said(a, ITEM.hypothesis), said(ITEM.hypothesis, a)]) for a in anchors]
        expected = [float(pooled(shares, direction, formula)) for shares in both]
        value = registry.load_metric(f"{name}|formula:{formula}|direction:{written}").score([ITEM], no_progress)[0]
        assert value.value == pytest.approx(max(expected), abs=1e-6)
        assert value.parts["condition"] == expected.index(max(expected))


def test_defaults_are_those_the_paper_settles_on() -> None:
    """Section 5: translation e both ways; summaries e−c from output to reference, −c from source to output."""
    chosen = {
        name: [o.default for o in registry.load_metric(name).spec.options[:2]]
        for name in ("nli", "nli-ref-sum", "nli-src")
    }
    assert chosen == {
        "nli": ["e", "both"],
        "nli-ref-sum": ["e-c", "output-reference"],
        "nli-src": ["-c", "source-output"],
    }
    assert registry.load_metric("nli-src").spec.needs == {"source", "nli"}
    assert registry.load_metric("nli-ref-sum").spec.range == (-1, 1)


def test_hypothesis_pieces_take_their_best_premise() -> None:
    """Premises down, hypotheses across. First hypothesis: the second premise (e .6); second: the first (e .5)."""
    shares = np.array([[[0.1, 0.1, 0.8], [0.5, 0.3, 0.2]], [[0.6, 0.4, 0.0], [0.4, 0.6, 0.0]]])
    assert supported(shares) == pytest.approx([0.55, 0.35, 0.1])


def test_a_long_text_is_read_to_its_end_in_windows() -> None:
    plain, other = (Item(LONG + end, "the cat sat", ()) for end in ("", "The blue house ran. " * 6))
    windows, cut = (registry.load_metric(f"nli-src|long:{long}|formula:e") for long in ("windows", "cut"))
    for metric, differ, says_cut in ((windows, True, False), (cut, False, True)):
        values = metric.score([plain, other], no_progress)
        assert (values[0].parts["n"] != values[1].parts["n"]) == differ
        assert all(("was cut" in v.reason) == says_cut for v in values)


def test_sentences_are_held_against_each_other_as_in_summac() -> None:
    """Zero-shot SummaC: every sentence of the summary takes its best sentence of the source; these are averaged."""
    source, summary = ["The cat sat.", "A red dog ran.", "The house is blue."], ["A dog ran.", "The cat sat."]
    e = [max(float(said(s, h)[0]) for s in source) for h in summary]
    metric = registry.load_metric("nli-src|long:sentences|formula:e")
    value = metric.score([Item(" ".join(source), " ".join(summary), ())], no_progress)[0]
    assert value.value == pytest.approx(np.mean(e), abs=1e-6)


def test_a_model_of_two_classes_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERRORSCOPE_NLI", str(tiny.nli(tmp_path, {0: "entailment", 1: "not_entailment"})))
    with pytest.raises(UserError, match="does not distinguish neutral from contradiction"):
        registry.load_metric("nli").signature()


def test_equal_pairs_are_computed_once_in_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    real = nli.NliModel.judged

    def counted(self: nli.NliModel, pairs: list, progress: Progress = no_progress) -> object:
        calls.append(list(pairs))
        return real(self, pairs, progress)

    monkeypatch.setattr(nli.NliModel, "judged", counted)
    registry.load_metric("nli").score([ITEM, ITEM, Item(None, "a red dog", ("the cat sat",))], no_progress)
    assert len(calls) == 1
    assert sorted(calls[0]) == sorted(
        [("the cat sat on the mat", "the cat sat"), ("the cat sat", "the cat sat on the mat"), ("a red dog", "the cat sat"),
         ("the cat sat", "a red dog")]
    )  # fmt: skip


def entailed(premise: str, hypothesis: str) -> float:
    return float(said(premise, hypothesis)[0])


def test_each_direction_has_its_own_question() -> None:
    forward = [entailed(r, ITEM.hypothesis) for r in ITEM.references]
    backward = [entailed(ITEM.hypothesis, r) for r in ITEM.references]
    means = [(t + b) / 2 for t, b in zip(forward, backward, strict=True)]
    expected = {
        "entailment": forward,
        "entailment|direction:output-reference": backward,
        "entailment|direction:both": means,
        "entailment|direction:source-output": [entailed("die Katze", ITEM.hypothesis)],
    }
    for name, of_references in expected.items():
        value = registry.load_metric(name).score([ITEM], no_progress)[0]
        assert value.value == pytest.approx(max(of_references), abs=1e-6)
        assert value.parts["condition"] == of_references.index(max(of_references))


def test_numbered_labels_are_refused_before_anything_is_scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERRORSCOPE_NLI", str(tiny.nli(tmp_path, {0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"})))
    with pytest.raises(UserError, match="identify entailment"):
        registry.load_metric("entailment").signature()


def test_it_matches_sentences_in_smart() -> None:
    """SMART's T5-ANLI: the sentence of the reference is the premise, that of the output the hypothesis."""
    metric = registry.load_metric("smart1|matcher:entailment|against:reference")
    value = metric.score([Item(None, "the cat sat", ("a red dog",))], no_progress)[0]
    assert value.value == pytest.approx(entailed("a red dog", "the cat sat"), abs=1e-6)
