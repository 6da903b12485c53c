"""MENLI and stored ranges: equation 2 by hand, scores that do not depend on the batch, and missing ranges."""

from pathlib import Path

import pytest

from core.data import Item
from core.errors import UserError
from core.metrics import ranges, registry
from core.metrics.ranges import Range
from core.progress import no_progress
from tests.core.metrics.all_outputs import all_outputs
from tests.core.tiny_encoder import use_tiny_encoder

ITEMS = [
    Item("die Katze", "the cat sat", ("the cat sat on the mat",)),
    Item("der Hund", "a red dog", ("a blue dog ran", "the red dog")),
    Item("x", "the house", ("the house",)),
]


@pytest.fixture(autouse=True)
def _tiny(tiny_models: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use_tiny_encoder(monkeypatch)
    monkeypatch.setenv("ERRORSCOPE_HOME", str(tmp_path))


def values(name: str, items: list[Item] = ITEMS) -> list[float]:
    return [v.value or 0.0 for v in registry.load_metric(name).score(items, no_progress)]


def test_a_combination_is_the_weighted_mean_of_both_scaled() -> None:
    """C = w·N + (1 − w)·M (equation 2): e is 0 … 1 as it is, chrF 0 … 100."""
    nli, chrf = values("nli"), values("chrf")
    assert values("menli|with:chrf|w:0.3") == pytest.approx(
        [0.3 * n + 0.7 * m / 100 for n, m in zip(nli, chrf, strict=True)]
    )
    assert values("menli|with:chrf|w:0") == pytest.approx([m / 100 for m in chrf])
    assert values("menli|with:chrf|w:1") == pytest.approx(nli)


def test_a_metric_of_which_lower_is_better_is_turned_round() -> None:
    ter = values("ter")
    assert values("menli|with:ter|w:0|range:0..200") == pytest.approx([1 - t / 200 for t in ter])


def test_other_nli_metrics_and_options_may_be_combined() -> None:
    name = "menli|with:chrf%7Cbeta%3A3|w:0.5|nli:nli-src%7Cformula%3Ae-n-2c"
    metric = registry.load_metric(name)
    n, m = values("nli-src|formula:e-n-2c"), values("chrf|beta:3")
    assert metric.spec.name == name
    assert metric.spec.needs == {"source", "reference", "nli"}
    assert values(name) == pytest.approx([0.5 * (a + 2) / 3 + 0.5 * b / 100 for a, b in zip(n, m, strict=True)])


def test_a_score_is_the_same_alone_and_in_a_batch() -> None:
    ranges.fit({registry.load_metric("bertscore").signature(): [0.2, 0.9]})
    together = values("menli")
    assert [values("menli", [item])[0] for item in ITEMS] == pytest.approx(together, abs=1e-5)


def test_the_signature_carries_the_ranges_and_both_metrics() -> None:
    metric = registry.load_metric("menli|with:chrf|w:0.3|range:0..80")
    fields = dict(part.split(":", 1) for part in metric.signature().split("|")[1:])
    assert (fields["w"], fields["range_n"], fields["range_m"]) == ("0.3", "0..1 (declared)", "0..80 (given)")
    assert fields["n"] == registry.load_metric("nli").signature().replace("|", "/")
    assert fields["m"] == registry.load_metric("chrf").signature().replace("|", "/")


def test_fitting_a_range_changes_the_signature_and_the_score() -> None:
    metric, item = registry.load_metric("menli|with:chrf|w:0"), ITEMS[:1]
    before, chrf = metric.signature(), values("chrf", item)[0]
    ranges.fit({registry.load_metric("chrf").signature(): [20.0, 30.0, 70.0]})
    assert metric.signature() != before
    assert "range_m:20..70 (own)" in metric.signature()
    assert values(metric.spec.name, item)[0] == pytest.approx((chrf - 20) / 50)


def test_values_outside_the_range_are_not_clamped() -> None:
    assert Range(0, 10, "given").scaled(12) == pytest.approx(1.2)
    assert Range(0, 10, "given").scaled(12, higher_is_better=False) == pytest.approx(-0.2)


def test_an_unbounded_metric_says_how_to_fit_a_range() -> None:
    """Every weight of the tiny model has another revision than those whose ranges are shipped."""
    with pytest.raises(UserError, match="errorscope ranges") as error:
        registry.load_metric("menli|with:bartscore").signature()
    assert "--metrics 'bartscore'" in error.value.hint
    assert "range_m:-9..-1 (given)" in registry.load_metric("menli|with:bartscore|range:-9..-1").signature()


def test_bounds_are_declared_only_where_they_hold() -> None:
    assert registry.load_metric("menli|range:declared").spec.range == (0, 1)
    assert registry.load_metric("menli").spec.range == (-float("inf"), float("inf"))
    assert registry.load_metric("menli|with:ter|range:declared").spec.range[1] == float("inf")


def test_a_value_missing_on_one_side_keeps_its_reason() -> None:
    ranges.fit({registry.load_metric("bertscore").signature(): [0.2, 0.9]})
    # from the source, the empty reference is no matter to N
    for name, label in (("menli", "NLI"), ("menli|nli:nli-src", "BERTScore")):
        value = registry.load_metric(name).score([Item("ein Hund", "a dog", ("",))], no_progress)[0]
        assert value.value is None
        assert value.status == "undefined"
        assert value.reason.startswith(f"{label}: ")


def test_idf_weights_are_fitted_on_all_outputs() -> None:
    metric = registry.load_metric("menli|with:bertscore%7Cidf%3Ayes|range:0..1")
    assert metric.fit is not None
    bound = metric.for_outputs(all_outputs(ITEMS))
    assert "idf:refs-" in bound.signature()
    assert [v.status for v in bound.score(ITEMS, no_progress)] == ["ok"] * 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("menli|with:menli", "cannot be combined with itself"),
        ("menli|nli:chrf", "not an NLI metric"),
        ("menli|with:chrff", "Did you mean"),
        ("menli|w:1.2", "from 0 to 1"),
        ("menli|range:3..3", "not a range"),
        ("menli|range:low", "not a range"),
    ],
)
def test_what_cannot_be_combined_is_refused(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        registry.load_metric(text)
