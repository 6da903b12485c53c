"""Putting an NLI metric and others together on a project: what is scored, which ranges, and which dataset chooses for which."""

import math
from pathlib import Path

import numpy as np
import pytest

from core.data import Dataset, Item, Output, OutputKey, Segment, Value
from core.formats.error_cases import AdversarialCase
from core.metrics import ranges, registry
from core.metrics.entailment.nli import STRATEGIES
from core.metrics.ranges import Range
from core.progress import no_progress
from core.scoring.dataset import for_dataset
from core.services.calibrate.calibration import LambdaFitOptions
from core.services.robustness import combining, nli_weights
from core.services.robustness.adversarial import Answered, answer
from core.services.robustness.combining import CaseSuite, Strategies
from core.services.robustness.nli_weights import Pooled
from tests import tiny_checkpoints as tiny
from tests.stores import new_store

SEGMENTS = tuple(
    Segment("d", str(i), None, (text, text.replace("the", "a")))
    for i, text in enumerate(("the cat sat", "the red dog ran", "the house is blue", "the mat"))
)
DATA = Dataset(
    SEGMENTS,
    tuple(Output(system, "d", s.segment_id, f"{s.references[0]} {system}") for system in "ab" for s in SEGMENTS),
)
CASES = tuple(
    AdversarialCase(
        kind, str(i), Item(None, good, ("the cat sat on the mat",)), Item(None, bad, ("the cat sat on the mat",))
    )
    for i, (kind, good, bad) in enumerate(
        [
            ("negation", "a cat sat on a mat", "the cat sat not on the mat"),
            ("negation", "the cat sat on the mat", "a dog"),
            ("addition", "the cat sat", "the house is blue"),
        ]
    )
)


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in tiny.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("ERRORSCOPE_HOME", str(tmp_path))


def test_the_expression_is_the_metric_that_was_shown() -> None:
    assert combining.expression("nli", "chrf", 0.3) == "menli|with:chrf|w:0.3"
    name = combining.expression("nli-src|formula:e", "chrf|beta:3", 0.25)
    assert name == "menli|with:chrf%7Cbeta%3A3|w:0.25|nli:nli-src%7Cformula%3Ae"
    assert registry.load_metric(name).spec.name == name
    assert combining.expression("nli", "bertscore", 0.2) == "menli"  # both are the defaults


def test_nli_metrics_scale_by_formula_others_by_range() -> None:
    """MoverScore's idf weights are of the dataset, and so is the signature its range is stored by."""
    assert combining.part(registry.load_metric("nli-src")).scale == Range(-1, 0, "declared")
    ranges.fit({registry.load_metric("chrf").signature(): [20.0, 70.0]})
    assert combining.part(registry.load_metric("chrf")).scale == Range(20, 70, "own", 2)
    moverscore = registry.load_metric("moverscore")
    ranges.fit({for_dataset(moverscore, DATA).signature(): [-0.5, 0.5]})
    mixed = for_dataset(registry.load_metric("menli|with:moverscore"), DATA).signature()
    assert "range_m:-0.5..0.5 (own)" in mixed
    assert combining.part(moverscore, DATA).scale == Range(-0.5, 0.5, "own", 2)


def test_cases_sharing_texts_belong_to_the_project() -> None:
    def case(source: str | None, *references: str) -> AdversarialCase:
        return AdversarialCase("negation", "1", Item(source, "good", references), Item(source, "bad", references))

    sourced = Dataset((Segment("d", "1", "der Hund", ("the dog",)),), ())
    assert combining.of_project([case("x", "y"), case("der Hund", "y")], sourced)
    assert combining.of_project([case(None, "the dog")], sourced)
    assert not combining.of_project([case(None, "the cat"), case("")], sourced)


def test_a_metric_without_a_range_has_the_fit_command_until_it_is_fitted() -> None:
    bartscore = registry.load_metric("bartscore")
    without = combining.part(bartscore)
    assert without.scale is None
    assert "errorscope ranges s.csv" in without.command
    assert combining.pair(combining.part(registry.load_metric("nli")), without, {}, {}, []) is None
    values = {OutputKey("a", "d", "1"): Value(-3.0), OutputKey("a", "d", "2"): Value(None, "undefined", "why")}
    combining.fit(bartscore, values | {OutputKey("a", "d", "3"): Value(-1.0)})
    assert combining.part(bartscore).scale == Range(-3, -1, "own", 2)


def test_stored_scores_are_reused_and_missing_ones_stored() -> None:
    store = new_store()
    project = store.projects.create("p")
    store.projects.add(project.id, DATA)
    keys, told = [o.key for o in DATA.outputs[:3]], list[int]()

    def watch(doing: object) -> None:
        told.append(getattr(doing, "metric_done", 0))

    chrf = registry.load_metric("chrf")
    first = combining.scores_of(store, project, DATA, keys, [chrf], watch)
    assert list(first["chrf"]) == keys
    assert told[0] == 0
    told.clear()
    assert combining.scores_of(store, project, DATA, keys, [chrf], watch) == first
    assert told[0] == 3
    more = combining.scores_of(store, project, DATA, [o.key for o in DATA.outputs], [chrf])
    assert len(more["chrf"]) == 8
    assert not combining.failed(more)
    assert combining.failed({"chrf": {keys[0]: Value(None, "error", "no room")}})


def test_a_pair_has_what_people_said_and_the_cases_of_all_suites() -> None:
    nli, chrf = (registry.load_metric(name) for name in ("nli", "chrf"))
    human = {o.key: float(i) for i, o in enumerate(DATA.outputs)}
    items = dict(DATA.items())
    tables = {
        m.spec.name: dict(zip(human, m.score([items[k] for k in human], no_progress), strict=True)) for m in (nli, chrf)
    }
    suites = [(CaseSuite(name, CASES), answer(CASES, [nli, chrf])) for name in ("one", "two")]
    found = combining.pair(combining.part(nli), combining.part(chrf), tables, human, suites)
    assert found is not None
    assert found.judged is not None
    assert found.judged.keys == tuple(human)
    assert found.judged.other == pytest.approx([(tables["chrf"][k].value or 0) / 100 for k in human])
    assert found.attacked is not None
    assert found.attacked.phenomena[2:4] == ("one: addition", "two: negation")
    assert (
        found.attacked.other_bad[3:].tolist() == found.attacked.other_bad[:3].tolist()
    )  # the suites follow each other
    # chrF alone: the plain copy and "the cat sat" are ahead, the negated copy is ahead of its paraphrase: ½ and 1
    assert nli_weights.robustness(found.attacked, 0) == pytest.approx(0.75)
    few = combining.pair(combining.part(nli), combining.part(chrf), tables, {next(iter(human)): 1.0}, [])
    assert few is not None
    assert (few.judged, few.attacked) == (None, None)


def test_both_ways_is_the_metric_itself_where_it_asks_both_ways() -> None:
    assert combining.both_ways(registry.load_metric("nli")).spec.name == "nli"
    assert combining.both_ways(registry.load_metric("nli-ref-sum")).spec.name == "nli-ref-sum|direction:both"
    assert (
        combining.both_ways(registry.load_metric("nli|direction:output-reference|formula:-c")).spec.name
        == "nli|formula:-c"
    )


def test_strategies_of_the_project_and_of_every_suite() -> None:
    def value(e: float, c: float) -> Value:
        ways = {
            f"{k}_{way}": v for way in ("forward", "backward") for k, v in zip("enc", (e, 1 - e - c, c), strict=True)
        }
        return Value(e, parts=ways)

    nli = registry.load_metric("nli")
    keys = [OutputKey("a", "d", str(i)) for i in range(4)]
    table = {k: value(i / 4, 0.0) for i, k in enumerate(keys)}
    human = {k: float(i) for i, k in enumerate(keys)}
    good, bad = (value(0.6, 0.1), value(0.2, 0.1)), (value(0.3, 0.2), value(0.4, 0.5))
    cases = tuple(AdversarialCase("negation", str(i), Item(None, "a", ()), Item(None, "b", ())) for i in range(2))
    answered = [Answered(nli.spec, "s", good, bad)]
    found = combining.strategies(
        nli, {"nli": table}, human, [(CaseSuite("f", cases), answered)], LambdaFitOptions(), "people"
    )
    assert [(s.dataset, s.quality) for s in found] == [("people", True), ("f", False)]
    assert found[0].values()["both", "e"] == pytest.approx(1)  # e grows with what people say
    assert found[0].values()["both", "-c"] is None  # c is the same everywhere
    assert found[1].values()["both", "e"] == 0.5
    assert found[1].values()["both", "-c"] == 1


def on(name: str, best: tuple[str, str], *, quality: bool = False, own: bool = False) -> Strategies:
    rows = [
        Pooled(d, f, value if quality else None, None if quality else value)
        for d, f in STRATEGIES
        for value in [0.9 if (d, f) == best else 0.3]
    ]
    return Strategies(name, quality, own, tuple(rows))


def test_the_project_never_chooses_for_itself() -> None:
    """People and the project's own cases share their texts; files choose for them, and cases for each other."""
    e, c = ("both", "e"), ("forward", "-c")
    people, mine = on("people", e, quality=True, own=True), on("mine", e, own=True)
    assert combining.held_out([people, mine]) == []
    rows = {r.dataset: r for r in combining.held_out([people, mine, on("file", c)])}
    assert list(rows) == ["people", "mine", "file"]
    assert (rows["people"].direction, rows["people"].formula, rows["people"].value) == (*c, 0.3)
    assert (rows["people"].best, rows["people"].best_value) == (e, 0.9)
    assert (rows["mine"].direction, rows["mine"].formula) == c
    assert (rows["file"].direction, rows["file"].formula) == e  # by the cases of the project alone


def test_an_undefined_strategy_is_never_chosen() -> None:
    one, two = on("one", ("both", "e")), on("two", ("both", "e"))
    holes = two._replace(rows=tuple(r if r.formula == "e" else r._replace(robustness=None) for r in two.rows))
    assert [row.value for row in combining.held_out([one, holes])] == [0.9, 0.9]
    lost = combining.held_out([holes, on("three", ("both", "-c"))])[0]
    assert lost.value == -math.inf
    assert np.isfinite(lost.best_value)
