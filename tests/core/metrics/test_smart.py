"""SMART as a metric: options, targets, missing texts, signatures; and Table 1 of the paper where the data are here."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import pytest

from cli.reproduce import smart_cells, summeval
from core.data import Item, Value
from core.errors import UserError
from core.metrics import registry, smart
from core.metrics.base import Metric, MetricSpec, Need
from core.metrics.smart import cosines, pairwise
from core.progress import Cancelled, Progress, no_progress
from core.scoring.values import values_of
from core.smart.overlap import chrf_matrices
from tests.builders import stop_when
from tests.core.smart.oracle import RECALLS, measured
from tests.minilm import need_minilm
from tests.paths import DATA

SUMMEVAL = DATA / "summeval.jsonl.gz"
ITEM = Item(
    "A cat sat on a mat. It purred. Rain fell on the town.",
    "The cat sat. It was raining in town.",
    ("A cat sat down. The rain fell.", "Dogs bark. Nobody knows why."),
)


def scored(expression: str, item: Item = ITEM) -> Value:
    return registry.load_metric(expression).score([item], no_progress)[0]


def plain(variant: str, target: str, output: str = ITEM.hypothesis) -> tuple[float, float, float]:
    """Of texts whose sentences end in a full stop and a space."""
    sides = tuple(tuple(s.rstrip(".") + "." for s in text.split(". ")) for text in (target, output))
    [matrix] = chrf_matrices([sides])  # type: ignore[list-item]
    return measured(RECALLS[variant], matrix.tolist())


@pytest.mark.parametrize("variant", ["1", "2", "L"])
def test_each_way_of_comparing_with_source_and_references(variant: str) -> None:
    source, *refs = [plain(variant, target) for target in (ITEM.source or "", *ITEM.references)]
    best = tuple(map(max, zip(*refs, strict=True)))
    expected = {
        "reference": best,
        "source": source,
        "both": tuple(map(max, zip(source, best, strict=True))),
        "average": tuple((s + r) / 2 for s, r in zip(source, best, strict=True)),
        "minimum": tuple(map(min, zip(source, best, strict=True))),
    }
    for against, (p, r, f) in expected.items():
        value = scored(f"smart{variant}|against:{against}")
        assert value.value == pytest.approx(f, abs=1e-12)
        assert (value.parts["precision"], value.parts["recall"]) == pytest.approx((p, r), abs=1e-12)
        assert scored(f"smart{variant}|against:{against}|measure:p").value == pytest.approx(p, abs=1e-12)
        assert scored(f"smart{variant}|against:{against}|measure:r").value == pytest.approx(r, abs=1e-12)


def test_the_target_that_won_is_part_of_the_score() -> None:
    assert scored("smart1", ITEM._replace(hypothesis="It purred.")).parts["target"] == 0
    assert scored("smart1", ITEM._replace(hypothesis=ITEM.references[1])).parts["target"] == 2
    assert scored("smart1|against:reference").parts["target"] == 1
    assert scored("smart1|against:minimum", ITEM._replace(hypothesis=ITEM.source or "")).parts["target"] == 1
    assert "target" not in scored("smart1|against:average").parts
    assert set(scored("smartX").parts) == {"precision", "recall", "target1", "target2", "targetL"}


def test_smart_x_is_the_mean_of_the_three() -> None:
    three = [scored(f"smart{v}|against:average") for v in "12L"]
    assert scored("smartX|against:average").value == pytest.approx(np.mean([v.value for v in three]))
    assert scored("smartX|against:average").parts["recall"] == pytest.approx(
        np.mean([v.parts["recall"] for v in three])
    )


def test_what_is_needed_follows_the_options_of_stored_scores_too() -> None:
    described = registry.describe("smart1|against:reference")
    assert described is not None
    assert described.needs == {"reference"}
    assert "choose “reference” for the option “against”" in registry.load_metric("smart1").spec.help


def test_a_missing_text_is_a_status_and_an_empty_one_undefined() -> None:
    no_source = ITEM._replace(source=None)
    assert values_of(registry.load_metric("smart1"), [no_source], no_progress)[0].status == "needs"
    assert values_of(registry.load_metric("smart1|against:reference"), [no_source], no_progress)[0].status == "ok"
    assert scored("smart1", ITEM._replace(hypothesis=" \n")).value == 0
    assert scored("smart1", ITEM._replace(source="")).value == scored("smart1|against:reference").value
    for expression, item, reason in (
        ("smartL", Item("", "a", ("", " ")), "source and references are empty"),
        ("smart1|against:average", ITEM._replace(source=""), "the source is empty, or all references are"),
        ("smart1|against:minimum", ITEM._replace(references=("",)), "the source is empty, or all references are"),
    ):
        value = scored(expression, item)
        assert (value.value, value.status) == (None, "undefined")
        assert reason in value.reason


def test_many_items_of_many_segments_get_what_each_gets_alone() -> None:
    items = [Item(f"{s} {ITEM.source}", f"{o} {ITEM.hypothesis}", (f"{s}.",)) for o in range(9) for s in range(19)]
    metric = registry.load_metric("smartX|matcher:rougeL")
    together = metric.score(items, no_progress)
    assert together == [metric.score([item], no_progress)[0] for item in items]
    shares: list[float] = []
    metric.score(items, shares.append)
    assert shares == sorted(shares)
    assert len(shares) > 1


def test_the_signature_is_exact() -> None:
    assert registry.load_metric("smart1").signature() == (
        "smart1|v:1|matcher:chrf/v:1/nrefs:var/case:mixed/eff:yes/nc:6/nw:0/space:no/level:segment/sacrebleu:2.6.0"
        "|against:both|sentences:prose|prose:3|measure:f|nrefs:max"
    )
    assert "|matcher:rougeL/v:2/nrefs:var/measure:f/stem:yes/" in (
        registry.load_metric("smartL|matcher:rougeL%7Cstem%3Ayes").signature()
    )


def test_a_matcher_with_options_is_written_in_one_form() -> None:
    name = "smart2|matcher:chrf%7Cbeta%3A3%7Cword_order%3A2|against:source"
    for written in (name, "smart2|against:source|matcher: chrf%7Cword_order:2%7Cbeta:03 "):
        metric = registry.load_metric(written)
        assert metric.spec.name == name
        assert metric.spec.label == "SMART-2 (matched by chrf|beta:3|word_order:2, against source)"
    assert registry.load_metric("smart2|matcher:chrf%7Cbeta:2").spec.name == "smart2"
    described = registry.describe(name)
    assert described is not None
    assert described.label == registry.load_metric(name).spec.label


@pytest.mark.parametrize(
    ("matcher", "message"),
    [
        ("smartL", "SMART cannot use itself"),
        ("smart1%7Cmatcher:bleu", "SMART cannot use itself"),
        ("ter", "TER cannot match sentences.*range 0 to 1 or 0 to 100, such as chrf"),
        ("bartscore", "BARTScore F cannot match sentences"),
        ("chfr", "Did you mean chrf"),
        ("chrf%7Cbetta:3", "no such option"),
    ],
)
def test_what_cannot_match_sentences_is_refused(matcher: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        registry.load_metric(f"smart1|matcher:{matcher}")


def length_metric(needs: Need, asked: list[Item]) -> Metric:
    """Scores 0 to 100: how much of the output's length the other text has; none for an output of one letter."""
    spec = MetricSpec("length", "Length", "none", "Length.", (0, 100), frozenset({needs}))

    def one(item: Item) -> Value:
        if len(item.hypothesis) == 1:
            return Value(None, "undefined", "one letter")
        other = item.references[0] if item.source is None else item.source
        return Value(100 * min(len(item.hypothesis), len(other)) / len(item.hypothesis))

    def score(items: Sequence[Item], progress: Progress) -> list[Value]:
        progress(1.0)
        asked.extend(items)
        return [one(item) for item in items]

    return Metric(spec, lambda: "length|v:1", score)


def test_any_two_text_metric_scores_distinct_pairs_once() -> None:
    asked: list[Item] = []
    matcher = partial(pairwise, metric=length_metric("reference", asked), progress=no_progress)
    first, second = matcher([(("ab", "abcd"), ("abcd", "abcd")), (("ab",), ("abcd", "x"))])
    assert first.tolist() == [[0.5, 0.5], [1, 1]]
    assert second[0, 0] == 0.5
    assert np.isnan(second[0, 1])
    assert asked == [Item(None, c, (t,)) for t, c in (("ab", "abcd"), ("abcd", "abcd"), ("ab", "x"))]
    asked.clear()
    pairwise([(("premise",), ("claim",))], length_metric("source", asked), no_progress)
    assert asked == [Item("premise", "claim", ())]


def test_bleurt_matches_sentences_though_unbounded() -> None:
    assert registry.load_metric("smart1|matcher:bleurt").spec.needs == {"source", "reference", "bleurt"}
    with pytest.raises(UserError, match="cannot match sentences"):
        registry.load_metric("smart1|matcher:bartscore-p")


def test_an_output_only_metric_cannot_match_sentences() -> None:
    with pytest.raises(UserError, match="reads only the output"):
        registry.load_metric("smart1|matcher:unieval%7Caspect:fluency")
    assert registry.load_metric("smart1|matcher:unieval%7Caspect:relevance").spec.needs >= {"unieval"}


def test_the_embedding_matcher_is_signed_with_the_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    need_minilm(monkeypatch)
    monkeypatch.setenv("ERRORSCOPE_DTYPE", "bf16")  # of the encoder–decoder alone
    facts = registry.load_metric("embedding").signature().partition("|model:")[2]
    assert smart.matching("embedding").signature() == f"embedding|v:1|model:{facts}"
    assert "dtype" not in facts


def test_a_pair_without_score_affects_only_its_item(monkeypatch: pytest.MonkeyPatch) -> None:
    metric = length_metric("reference", [])
    load = registry.load_metric
    monkeypatch.setattr(registry, "load_metric", lambda text: metric if text == "length" else load(text))
    smart = load("smart1|matcher:length|against:reference")
    bad, good = smart.score([Item(None, "x", ("ab.",)), Item(None, "ab.", ("ab.",))], no_progress)
    assert (bad.status, good.value) == ("undefined", 1)
    assert "no score for a pair" in bad.reason
    answers = iter([True, False])  # asked by SMART, then by the matcher
    with pytest.raises(Cancelled):
        smart.score([Item(None, "ab.", ("ab.",))], stop_when(lambda share: not next(answers)))


def test_the_embedding_is_a_cosine_cut_at_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = {"a": [1.0, 0.0], "b": [0.6, 0.8], "c": [-1.0, 0.0]}

    class Fake:
        def sentences(self, texts: Sequence[str]) -> np.ndarray:
            return np.array([vectors[t] for t in texts], dtype=np.float32)

    monkeypatch.setattr(smart, "encoder", Fake)
    [matrix] = cosines([(("a", "b"), ("a", "c"))], no_progress)
    assert matrix == pytest.approx(np.array([[1, 0], [0.6, 0]]))


@pytest.mark.skipif(not SUMMEVAL.exists(), reason="the shared data stand beside the repository")
@pytest.mark.parametrize("variant", ["1", *(pytest.param(v, marks=pytest.mark.extended) for v in ("2", "L"))])
def test_the_chrf_rows_of_table_1_are_exact_to_three_digits(variant: str) -> None:
    # Amplayo et al. 2022, Table 1, CHRF; sentences after . ? ! before a space
    for cell in smart_cells(summeval(SUMMEVAL), "CHRF", variant):
        assert f"{cell.ours:.3f}" == f"{cell.paper:.3f}", cell.dimension
