"""The scoring panel: what it says about time, what it chooses at first, and which outputs a job is for."""

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Multiselect

from core.data import Dataset, Output, Segment, SegmentKey
from core.metrics import registry
from core.ports.store import Store
from core.ports.timings import Timing
from core.scoring.timing import model_of, size_of
from tests.pages.said import words
from tests.pages.test_shell import run, store

__all__ = ["store"]
N = 40
SOURCE = "The council met on Tuesday to discuss the flood defences along the river. " * 6


@pytest.fixture
def project(store: Store) -> int:
    """Summaries by two systems."""
    made = store.projects.create("summaries").id
    segments = tuple(Segment("d", str(i), f"{i} {SOURCE}", (f"flood defences {i}",)) for i in range(N))
    store.projects.add(
        made, Dataset(segments, tuple(Output(s, "d", str(i), f"{s} {i}") for i in range(N) for s in "AB"))
    )
    return made


def time_all(store: Store, project: int, **seconds: float) -> None:
    """Store the time that all outputs of the project take, 8 s for a metric that is not named."""
    data = store.projects.dataset(project)
    for name in registry.STANDARD:
        metric = registry.load(name)
        sizes = [size_of(item, metric.spec) for _, item in data.items()]
        took = seconds.get(name.replace("+", "x"), 8.0)
        store.timings.add(
            name, model_of(metric.signature()), Timing(len(sizes), sum(sizes), took, sum(sizes) / len(sizes))
        )


def chosen(at: AppTest) -> Multiselect:
    return next(m for m in at.multiselect if m.key and m.key.startswith("metrics-"))


def test_defaults_fit_the_task_and_leave_out_what_takes_hours(store: Store, project: int) -> None:
    time_all(store, project, bartscorexx=7200.0)
    at = run(project=str(project))
    assert not at.exception
    assert set(registry.STANDARD) - set(chosen(at).value) == {"ter", "bartscore++"}
    assert "Not chosen, because the outputs look like summaries: TER." in words(at)
    assert "Not chosen, because of the time for all outputs: BARTScore++ (2 h)." in words(at)
    assert "Time on this machine: about 1 min" in words(at)


def test_a_sample_and_the_open_segment_are_jobs_of_their_own(store: Store, project: int) -> None:
    time_all(store, project)
    for choice, n in (("sample", 10), ("segment", 1)):
        at = run(project=str(project))
        chosen(at).set_value(["chrf"]).run()
        next(b for b in at.button_group if b.key and b.key.startswith("scope-")).set_value(choice).run()
        assert ("about 2 s" if n == 10 else "about 1 s") in words(at)
        at.button(key=f"score-{project}").click().run()
        assert not at.exception
        [job] = [j for j in store.jobs.recent(project) if j.state == "queued"]
        assert (len(job.segments), job.metrics) == (n, ("chrf",))
        store.jobs.cancel(job.id)
    assert job.segments == (SegmentKey("d", "0"),)


def test_a_long_job_scores_the_open_segment_first(store: Store, project: int) -> None:
    time_all(store, project, bartscorexx=7200.0)
    at = run(project=str(project))
    chosen(at).set_value(["chrf", "bartscore++"]).run()
    assert "Time on this machine: about 2 h (BARTScore++ 2 h, 1 other 8 s). This segment is scored first." in words(at)
    at.button(key=f"score-{project}").click().run()
    assert [j.segments for j in reversed(store.jobs.recent(project))] == [(SegmentKey("d", "0"),), ()]
    assert "running now" in at.dataframe[1].value.columns
    assert at.dataframe[1].value["left"].tolist() == [2, 2, 80, 80]


def test_an_unknown_time_is_measured_on_request(store: Store, project: int) -> None:
    at = run(project=str(project))
    chosen(at).set_value(["chrf", "rouge1"]).run()
    at.button(key=f"estimate-{project}").click().run()
    assert [(j.metrics, j.timing) for j in store.jobs.recent(project)] == [(("chrf", "rouge1"), True)]
    assert "Measuring the speed of 2 metrics" in words(at)
    assert "Not scored yet" in words(at)


def test_an_estimate_does_not_replace_the_metrics_that_were_chosen(store: Store, project: int) -> None:
    at = run(project=str(project))
    chosen(at).set_value(["bartscore++"]).run()
    time_all(store, project, bartscorexx=7200.0)
    at.run()
    assert chosen(at).value == ["bartscore++"]
