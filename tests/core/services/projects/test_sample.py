"""The sample project: its texts and labels, and how it comes into a store."""

import gzip
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.data import SEVERITIES, Value
from core.metrics import registry
from core.mqm.actions import label_actions
from core.mqm.log import fold
from core.mqm.schemes import GOOGLE
from core.mqm.scores import rated_outputs, rater_penalty, system_scores
from core.mqm.typology import MQM, NON_TRANSLATION, is_non_translation
from core.ports.store import Store
from core.progress import no_progress
from core.services.projects import sample
from core.signature import content_key
from tests.builders import counting_metric
from tests.stores import new_store
from tools import record_sample

PATHS = [*(c.path for c in MQM.categories), NON_TRANSLATION]
SYSTEMS = ("Meridian", "Lark-7B", "PaperPlane", "Rule-2009")
RATERS = ("Sample rater A", "Sample rater B")

DATA = sample.dataset()
RATED = sample.labels()
TEXTS = {o.key: o.text for o in DATA.outputs}
SEGMENT = DATA.segment_of()
ROWS: list[dict[str, Any]] = [json.loads(line) for line in sample.SEGMENTS.read_text("utf-8").splitlines()]
PLANTED = [
    (row, system, planted) for row in ROWS for system, output in row["outputs"].items() for planted in output["planted"]
]


def words(text: str) -> int:
    return len(text.split())


def test_the_texts_are_as_varied_as_the_docs_say() -> None:
    assert Counter(row["language"] for row in ROWS) == {"de": 20, "ar": 20}
    assert len({s.doc_id for s in DATA.segments}) == 6
    assert Counter(len(s.references) for s in DATA.segments) == {1: 28, 2: 12}
    for outputs in DATA.outputs_of().values():
        assert tuple(o.system for o in outputs) == SYSTEMS
        assert len({o.text for o in outputs}) == len(SYSTEMS)
    texts = [text or "" for s in DATA.segments for text in (s.source, *s.references)]
    assert [text for text, n in Counter(texts).items() if n > 1 or not 8 <= words(text) <= 30] == []
    arabic = [s.source or "" for s in DATA.segments if s.doc_id.startswith("ar-")]
    assert all(sum("\u0600" <= c <= "\u06ff" for c in text) > len(text) / 2 for text in arabic)
    assert sum(any(ord(c) > 0xFFFF for c in s.source or "") for s in DATA.segments) >= 3
    clean = [
        (output["text"], row["references"])
        for row in ROWS
        for output in row["outputs"].values()
        if not output["planted"]
    ]
    assert sum(text in references for text, references in clean) >= 4
    assert sum(len(set(t.lower().split()) & set(refs[0].lower().split())) < words(t) / 2 for t, refs in clean) >= 3


def test_planted_errors_stand_once_and_cover_the_typology() -> None:
    for row, system, planted in PLANTED:
        text = row["source"] if planted["side"] == "source" else row["outputs"][system]["text"]
        assert text.count(planted["quote"]) == 1, (row["doc_id"], row["segment_id"], system, planted)
    assert {p["category"] for _, _, p in PLANTED} == set(PATHS)
    assert {p["severity"] for _, _, p in PLANTED} == set(SEVERITIES)
    kinds = Counter(p["kind"] for _, _, p in PLANTED)
    assert all(kinds[kind] >= 5 for kind in ("name", "number", "date", "negation", "omission", "untranslated"))
    assert kinds["non_translation"] == 3


def test_both_raters_labelled_the_same_outputs_of_all_documents() -> None:
    seen = {rater: {r.key for r in RATED if r.rater == rater} for rater in RATERS}
    assert set(seen) == {r.rater for r in RATED}
    assert seen[RATERS[0]] == seen[RATERS[1]]
    assert (len(RATED), len(seen[RATERS[0]]), len({key.segment for key in seen[RATERS[0]]})) == (216, 108, 27)
    assert {key.doc_id for key in seen[RATERS[0]]} == {s.doc_id for s in DATA.segments}
    a, b = ({r.key: r for r in RATED if r.rater == rater} for rater in RATERS)
    same = sum(set(a[key].errors) == set(b[key].errors) for key in a)
    close = sum(abs(rater_penalty(a[key].errors, GOOGLE) - rater_penalty(b[key].errors, GOOGLE)) <= 1 for key in a)
    assert 0.4 < same / len(a) < 0.9
    assert 0.75 < close / len(a) < 1


def test_labels_match_their_texts_and_cover_the_typology() -> None:
    for r in RATED:
        for span in r.errors:
            span.check(TEXTS[r.key] if span.side == "output" else SEGMENT[r.key.segment].source or "")
            assert span.end > span.start
            if not is_non_translation(span.category):
                (category,) = [c for c in MQM.categories if c.path == span.category]
                assert category.where in (span.side, "either")
                assert span.note or not category.needs_note
    spans = [span for r in RATED for span in r.errors]
    branches = {NON_TRANSLATION if is_non_translation(s.category) else s.category.split("/")[0] for s in spans}
    assert branches == {path.split("/")[0] for path in PATHS}
    assert {span.severity for span in spans} == set(SEVERITIES)
    assert sum(not r.errors for r in RATED) >= 30
    assert label_actions(RATED).notes == ()


def test_fluent_but_wrong_costs_more_than_clumsy_but_right_and_chrf_ranks_it_first() -> None:
    for raters in (RATERS, RATERS[:1], RATERS[1:]):
        means = system_scores([r for r in RATED if r.rater in raters], GOOGLE)
        assert [m.system for m in means] == ["Meridian", "PaperPlane", "Lark-7B", "Rule-2009"]
        assert all(better.score - worse.score > 1 for better, worse in zip(means, means[1:], strict=False))
    values = registry.load_metric("chrf").score([item for _, item in DATA.items()], no_progress)
    sums = dict.fromkeys(SYSTEMS, 0.0)
    for (key, _), value in zip(DATA.items(), values, strict=True):
        sums[key.system] += value.value or 0.0
    assert sorted(sums, key=lambda system: -sums[system]) == ["Lark-7B", "Meridian", "PaperPlane", "Rule-2009"]


# Into a store.


NOWHERE = Path("there is no such file")


def test_the_first_start_creates_the_sample_project(store: Store) -> None:
    project = sample.ensure(store, NOWHERE)
    assert project is not None
    assert (project.name, project.sample, project.n_segments, project.n_outputs) == (sample.NAME, True, 40, 160)
    assert store.projects.dataset(project.id) == DATA
    rated = rated_outputs(fold(store.labels.events(project.id)), TEXTS)
    assert {(r.key, r.rater, frozenset(r.errors)) for r in rated} == {
        (r.key, r.rater, frozenset(r.errors)) for r in RATED
    }
    (job,) = store.jobs.recent(project.id)
    assert (job.metrics, job.state) == (registry.STANDARD, "queued")


def test_a_second_start_changes_nothing_also_if_the_sample_was_renamed_or_deleted(store: Store) -> None:
    first = sample.ensure(store, NOWHERE)
    assert first is not None
    before = store.labels.events(first.id)
    store.jobs.cancel(store.jobs.recent(first.id)[0].id)
    store.projects.rename(first.id, "Mine")
    assert sample.ensure(store, NOWHERE) == first._replace(name="Mine")
    assert store.labels.events(first.id) == before
    assert [job.state for job in store.jobs.recent(first.id)] == ["cancelled"]
    store.projects.delete(first.id)
    assert sample.ensure(store, NOWHERE) is None
    for other in (store, new_store()):  # a store with projects gets no sample
        other.projects.create("Other")
        assert sample.ensure(other, NOWHERE) is None
        assert [p.name for p in other.projects.list()] == ["Other"]


def test_a_start_that_was_cut_off_is_completed_by_the_next(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    append, times = store.labels.append, iter(range(100))

    def cut_off(*args: Any) -> list[str]:
        if next(times) == 40:
            raise KeyboardInterrupt
        return append(*args)

    with monkeypatch.context() as patched:
        patched.setattr(store.labels, "append", cut_off)
        with pytest.raises(KeyboardInterrupt):
            sample.ensure(store, NOWHERE)
    project = sample.ensure(store, NOWHERE)
    assert project is not None
    assert len(rated_outputs(fold(store.labels.events(project.id)))) == 216


@pytest.fixture
def two_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = {
        "length": counting_metric("length"),
        "deep": counting_metric("deep", lambda i: Value(1.0, parts={"a": 0.1}, detail={"steps": [[1, "é"]]})),
    }
    monkeypatch.setattr(registry, "load_metric", metrics.__getitem__)
    monkeypatch.setattr(registry, "STANDARD", tuple(metrics))


@pytest.mark.usefixtures("two_metrics")
def test_a_recorded_run_warms_the_cache_value_for_value(store: Store, tmp_path: Path) -> None:
    out = tmp_path / "scores.jsonl.gz"
    record_sample.record([replace(registry.load_metric("length"), signature=lambda: "length|v:1|rev:other")], out)
    other = new_store()
    project = sample.ensure(other, out)
    assert project is not None
    assert other.scores.signatures(project.id) == []  # a run under another signature is left alone
    assert record_sample.record(registry.chosen(("length", "deep")), out) == 2 * 160
    project = sample.ensure(store, out)
    assert project is not None
    assert {by.metric: by.n for by in store.scores.signatures(project.id)} == {"length": 160, "deep": 160}
    assert {k: v.value for k, v in store.scores.column(project.id, "length|v:1").items()} == {
        key: float(len(text)) for key, text in TEXTS.items()
    }
    shown = store.scores.detail(project.id, "deep|v:1", DATA.segments[0].key)["Meridian"]
    assert (dict(shown.parts), shown.detail) == ({"a": 0.1}, {"steps": [[1, "é"]]})


def test_recording_twice_writes_the_same_bytes_and_a_metric_that_fails_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert record_sample.main(["--metrics", "no such metric", "--out", str(tmp_path / "scores")]) == 2
    assert "no such metric" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    for name in ("one", "two"):
        record_sample.record([counting_metric()], tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.skipif(not sample.SCORES.exists(), reason="no recorded run is in core/sample")
def test_recorded_scores_cover_the_sample_texts() -> None:
    keys = {content_key(*item) for _, item in DATA.items()}
    run = sample.recorded()
    assert {metric for metric, _ in run} == set(registry.STANDARD)
    assert all(set(values) == keys for values in run.values())
    assert len(run) == len(registry.STANDARD)
    assert all(v.status != "error" for values in run.values() for v in values.values())
    with gzip.open(sample.SCORES) as lines:
        assert sum(1 for _ in lines) == len(keys) * len(run)


@pytest.mark.models
@pytest.mark.parametrize("name", ["chrf", "bartscore", "bartscore++"])
def test_the_recorded_scores_are_what_this_installation_computes(name: str) -> None:
    metric = registry.load_metric(name)
    kept = sample.recorded()[name, metric.signature()]
    items = {content_key(*item): item for _, item in sample.dataset().items()}
    some = sorted(items)[::80]  # two outputs, whichever
    for key, now in zip(some, metric.score([items[k] for k in some], no_progress), strict=True):
        assert now.value == pytest.approx(kept[key].value, abs=1e-4)
        assert (now.detail or {}).get("refined") == (kept[key].detail or {}).get("refined")
