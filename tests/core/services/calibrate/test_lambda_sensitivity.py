"""λ by annotator, by weight scheme and on the K best systems, on a small project made by hand."""

import numpy as np
import pytest
import scipy.stats

from core.calibration.calibrate import calibrate
from core.data import Item, OutputKey, RatedOutput, Span, Value
from core.mqm.schemes import FLAT, GOOGLE, MAROT, Scheme, WeightRule, made
from core.refine.result import weighted
from core.services.calibrate.calibration import LambdaFitOptions, from_rated, points
from core.services.calibrate.lambda_sensitivity import by_rater, by_scheme, metrics_at_top, same_order
from core.services.evaluate.evaluation_data import ScoredMetric, join
from tests.labels import columns

SYSTEMS = ("A", "B", "C")
CHOICE = LambdaFitOptions(draws=20)
KEYS = [OutputKey(s, "d", str(k)) for k in range(8) for s in SYSTEMS]


def distances(key: OutputKey) -> tuple[float, float]:
    k = int(key.segment_id) * 3 + SYSTEMS.index(key.system)
    return 0.1 * (5 * k % 24), 0.1 * (7 * k % 24)


TABLE = {
    k: Value(weighted(*distances(k), 1.0), parts=dict(zip(("dist_exp", "dist_imp", "score_hyp"), (*distances(k), -1.0), strict=True)))
    for k in KEYS
}  # fmt: skip


def errors(severity: str, category: str, n: int) -> tuple[Span, ...]:
    return tuple(Span("output", 0, 1, "x", severity, category) for _ in range(n))


def rated(rater: str, lam: float, keys: list[OutputKey]) -> list[RatedOutput]:
    """As many minor errors as BARTScore++ at this λ asks for, in tenths."""
    return [RatedOutput(k, rater, errors("Minor", "Other", round(-10 * weighted(*distances(k), lam)))) for k in keys]


def test_each_rater_alone_gets_the_lambda_of_their_own_labels() -> None:
    labels = [*rated("Ann", 9.0, KEYS), *rated("Bo", 0.1, KEYS), *rated("Cy", 1.0, KEYS[:19])]
    everyone, ann, bo, cy = by_rater(columns(labels), ("Ann", "Bo", "Cy"), GOOGLE, TABLE, CHOICE)
    assert everyone.raters == ("Ann", "Bo", "Cy")
    assert (everyone.n, ann.n, bo.n, cy.n) == (24, 24, 24, 19)
    for alone, rater in ((ann, "Ann"), (bo, "Bo")):
        mine = [r for r in labels if r.rater == rater]
        assert alone.calibration == calibrate(points(TABLE, from_rated(columns(mine), [rater], GOOGLE)), draws=20)
    assert ann.calibration is not None
    assert bo.calibration is not None
    assert ann.calibration.lam > 2 > 0.5 > bo.calibration.lam
    assert everyone.calibration == calibrate(
        points(TABLE, from_rated(columns(labels), ["Ann", "Bo", "Cy"], GOOGLE)), draws=20
    )
    assert cy.calibration is None
    assert cy.reason == "19 scored outputs; at least 20 are needed"


def test_raters_without_errors_have_a_reason() -> None:
    (only,) = by_rater(columns(rated("Ann", 1.0, KEYS)), ("Ann",), GOOGLE, TABLE, CHOICE)
    assert only.calibration is not None
    (nothing,) = by_rater(columns(RatedOutput(k, "Ann", ()) for k in KEYS), ("Ann",), GOOGLE, TABLE, CHOICE)
    assert nothing.calibration is None
    assert nothing.reason == "the same human score for every output"


def test_a_scheme_changes_scores_ranking_and_lambda() -> None:
    # A has one error of the source a segment, B three slips of punctuation, C one minor error; λ is fitted on what is left
    labels = [
        RatedOutput(k, "Ann", {"A": errors("Major", "Source error", 1), "B": errors("Minor", "Fluency/Punctuation", 3),
                               "C": errors("Minor", "Other", 1)}[k.system])
        for k in KEYS
    ]  # fmt: skip
    google, marot, flat = by_scheme(columns(labels), ["Ann"], [GOOGLE, MAROT, FLAT], TABLE, CHOICE)
    # google: A 5, B 3 × 0.1, C 1; marot forgives the source; flat: B 3 × 1
    assert [[s.system for s in u.systems] for u in (google, marot, flat)] == [
        ["B", "C", "A"],
        ["A", "B", "C"],
        ["C", "B", "A"],
    ]
    assert [google.score(s) for s in SYSTEMS] == pytest.approx([-5, -0.3, -1])
    assert [marot.score(s) for s in SYSTEMS] == pytest.approx([0, -0.3, -1])
    assert [flat.score(s) for s in SYSTEMS] == pytest.approx([-5, -3, -1])
    assert [marot.rank(s) for s in (*SYSTEMS, "Z")] == [1, 2, 3, None]
    # of the three pairs google and marot order B, C alike and A, B and A, C not: (1 − 2)/3; google and flat (2 − 1)/3
    assert same_order(google, marot).value == pytest.approx(-1 / 3)
    assert same_order(google, flat).value == pytest.approx(1 / 3)
    assert same_order(google, google).value == 1
    for under in (google, marot, flat):
        assert under.calibration == calibrate(
            points(TABLE, from_rated(columns(labels), ["Ann"], under.scheme)), draws=20
        )


def test_the_lambda_of_the_first_scheme_is_tried_under_the_others() -> None:
    labels = rated("Ann", 3.0, KEYS)
    labels = [r._replace(errors=(*r.errors, *errors("Major", "Style", k % 3))) for k, r in enumerate(labels)]
    lenient = made("lenient", [{"severity": s, "category": "any", "weight": w} for s, w in (("Major", 0), ("Minor", 1))],
                   non_translation=None)  # fmt: skip
    google, mine = by_scheme(columns(labels), ["Ann"], [GOOGLE, lenient], TABLE, CHOICE)
    assert google.calibration is not None
    assert mine.calibration is not None
    assert google.at_first == pytest.approx(google.calibration.agreement)
    data = points(TABLE, from_rated(columns(labels), ["Ann"], lenient))
    scores = [weighted(p.dist_exp, p.dist_imp, google.calibration.lam) for p in data]
    assert mine.at_first == pytest.approx(scipy.stats.kendalltau(scores, [p.human for p in data])[0])
    assert mine.at_first <= mine.calibration.agreement


def test_a_scheme_without_a_severity_says_so_and_the_others_stay() -> None:
    broken = Scheme("major-only", 1, (WeightRule("Major", "", 5.0),))
    first, second = by_scheme(columns(rated("Ann", 1.0, KEYS)), ["Ann"], [broken, GOOGLE], TABLE, CHOICE)
    assert first.calibration is None
    assert first.reason == "there is no weight for this severity: 'Minor'"
    assert second.calibration is not None
    assert second.at_first == pytest.approx(second.calibration.agreement)
    assert same_order(first, second).value is None


def test_top_k_agreement_uses_only_their_outputs() -> None:
    rng = np.random.default_rng(0)
    keys = [OutputKey(s, "d", str(k)) for s in "ABCD" for k in range(6)]
    human = {k: (float(rng.integers(0, 9)), None) for k in keys}
    metric = {k: float(rng.random()) for k in keys}
    people = from_rated(columns([]), [], GOOGLE)
    people = type(people)("human", human)
    metrics = [ScoredMetric("m", "Metric", "m|v:1"), ScoredMetric("none", "Nowhere", "n|v:1")]
    items = {k: Item(None, "word " * (1 + i), ("a reference",)) for i, k in enumerate(keys)}
    joined = join(people, metrics, {"m": metric, "none": {}}, items=items)
    rows = metrics_at_top(joined, ["D", "B", "A", "C"], "kendall", "pooled")
    mine = {r.k: r for r in rows if r.name == "m"}
    for k, systems in ((3, "DBA"), (4, "DBAC")):
        part = [key for key in keys if key.system in systems]
        expected = scipy.stats.kendalltau([metric[x] for x in part], [human[x][0] for x in part])[0]
        assert mine[k].agreement.value == pytest.approx(expected)
        assert mine[k].n == 6 * k
    assert all(r.agreement.value is None and r.agreement.reason for r in rows if r.name == "none")
    assert any(r.sentinel for r in rows)
    assert metrics_at_top(joined, ["D", "B"], "kendall", "pooled") == []
