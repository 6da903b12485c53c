"""The evaluation data of a project, compared with those joined by dictionaries of all outputs and texts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.data import Dataset, Item, Output, OutputKey, Segment, Value, in_natural_order
from core.metrics import registry
from core.metrics.lexical.baselines import BASELINES, baseline_scores
from core.ports.scores import ScoredBy
from core.services.calibrate.calibration import HumanScores
from core.services.evaluate.evaluation_data import TOLERATED, EvaluationData, from_view
from core.services.projects import texts as stored_texts
from core.services.projects.texts import StoredTexts
from core.services.projects.view import View
from tests.views import DatasetTexts, view_of

SIGNATURES = {"chrf|v:1": "chrf", "ter|v:1": "ter", "bleu|v:1": "bleu"}
HIGHER = {"chrf": True, "ter": False, "bleu": True}
WORDS = st.lists(st.sampled_from("a b c d e".split()), max_size=9).map(" ".join)
VALUE = st.one_of(
    st.floats(-2, 2).map(Value),
    st.just(Value(None, "undefined", "no words")),
    st.just(Value(None, "error", "failed")),
)


@st.composite
def projects(draw: st.DrawFn) -> tuple[View, Dataset, HumanScores]:
    n, systems = draw(st.integers(1, 5)), "ABC"
    segments = [Segment(f"d{i // 2}", str(i), draw(st.none() | WORDS), ("a reference",)) for i in range(n)]
    keys = [
        OutputKey(s, *segment.key) for segment in segments for s in draw(st.sets(st.sampled_from(systems), min_size=1))
    ]
    data = Dataset(tuple(segments), tuple(Output(*k, draw(WORDS)) for k in keys))
    few = st.sampled_from([0, 0, 0, 1]).map(bool)
    tables = {s: {k: draw(VALUE) for k in keys if not draw(few)} for s in SIGNATURES}
    scored = [ScoredBy(metric, s, len(tables[s]), datetime(2026, 1, 1, tzinfo=UTC)) for s, metric in SIGNATURES.items()]
    rated = draw(st.permutations([*keys, OutputKey("A", "gone", "1"), OutputKey("D", "d0", "0")]))
    people = HumanScores("human|name:da", {k: (draw(st.floats(-9, 9)), None) for k in rated if draw(st.booleans())})
    return view_of(data, scored, tables, registry.specs()), data, people


def by_dictionaries(
    view: View, people: HumanScores, texts: Mapping[OutputKey, Item], excluded: Sequence[str], seed: int, partly: bool
) -> tuple[list[OutputKey], dict[str, list[float]], set[str]]:
    """Return the keys, the scores by name and the names of the metrics that are set aside."""
    rated = [k for k in in_natural_order(view.index.keys()) if k in people.scores and k.system not in excluded]
    values: dict[str, dict[OutputKey, float]] = {}
    for column in view.columns:
        array = view.values(column.name, 1.0) * (1.0 if HIGHER[column.metric] else -1.0)
        values[column.name] = {
            k: float(array[view.row[k.segment], view.index.column[k.system]]) for k in view.scored(column.name, rated)
        }
    most = max(values.values(), key=len).keys()
    aside = {name for name, of in values.items() if not partly and len(most - of.keys()) > TOLERATED * len(most)}
    numbers = {m: {k: v for k, v in of.items() if not np.isnan(v)} for m, of in values.items() if m not in aside}
    there = {m: of for m, of in numbers.items() if of}
    keys = [k for k in rated if all(k in of for of in there.values()) and k in texts]
    scores = {m: [of[k] for k in keys] for m, of in there.items()}
    for baseline in BASELINES:
        found = [baseline.of(texts[k], seed) for k in keys]
        if None not in found:
            scores[f"sentinel:{baseline.name}"] = [v for v in found if v is not None]
    return keys, scores, aside


def check(found: EvaluationData, expected: tuple[list[OutputKey], dict[str, list[float]], set[str]]) -> None:
    keys, scores, aside = expected
    assert list(found.keys) == keys
    assert {name: v.tobytes() for name, v in found.scores.items()} == {
        name: np.array(v, dtype=np.float64).tobytes() for name, v in scores.items()
    }
    assert {p.name for p in found.partly if p.aside} == aside


@given(projects(), st.lists(st.sampled_from("ABX"), max_size=1), st.integers(0, 3), st.booleans(), st.data())
def test_data_are_those_joined_by_dictionaries(
    project: tuple[View, Dataset, HumanScores], excluded: list[str], seed: int, partly: bool, drawn: st.DataObject
) -> None:
    view, data, people = project
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored_texts, "FEW_OUTPUTS", 2)
        found = from_view(view, people, excluded=excluded, seed=seed, partly=partly)
    check(found, by_dictionaries(view, people, dict(data.items()), excluded, seed, partly))
    assert found.human.tolist() == [people.scores[k][0] for k in found.keys]
    assert found.without_outputs().notes == found.notes
    # outputs that are deleted meanwhile are left out
    left = Dataset(data.segments, tuple(o for o in data.outputs if drawn.draw(st.booleans())))
    view = replace(view, texts=StoredTexts(DatasetTexts(left), 0, len(view.systems)))
    check(from_view(view, people), by_dictionaries(view, people, dict(left.items()), (), 0, False))


def test_texts_are_never_held_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_texts, "OUTPUTS_AT_ONCE", 4)
    segments = tuple(Segment("d", str(i), f"source {i}") for i in range(20))
    data = Dataset(segments, tuple(Output(s, "d", str(i), f"{s} {i}") for i in range(20) for s in "AB"))
    table = {o.key: Value(float(len(o.text))) for o in data.outputs}
    scored = [ScoredBy("chrf", "chrf|v:1", 40, datetime(2026, 1, 1, tzinfo=UTC))]
    view = view_of(data, scored, {"chrf|v:1": table}, registry.specs())
    sizes: list[int] = []
    real = view.texts.item_parts
    monkeypatch.setattr(view.texts, "item_parts", lambda keys: (sizes.append(len(p)) or p for p in real(keys)))
    found = from_view(view, HumanScores("h", {o.key: (1.0, None) for o in data.outputs}))
    assert sizes == [4] * 10
    assert (
        found.scores["sentinel:random"].tolist() == baseline_scores((i for _, i in data.items()), 0)["random"].tolist()
    )
