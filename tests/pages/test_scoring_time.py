"""The scoring panel: what it says about time, what it chooses at first, and which outputs a job is for."""

import pytest
from streamlit.testing.v1 import AppTest

from core.data import Dataset, Output, Segment, SegmentKey, Value
from core.metrics import registry
from core.ports.scores import Timing
from core.ports.store import Store
from core.scoring.dataset import for_dataset
from core.scoring.timing import model_of, size_of
from core.signature import content_key
from tests.pages.metric_boxes import MetricBoxes
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
        metric = registry.load_metric(name)
        sizes = [size_of(item, metric.spec) for _, item in data.items()]
        took = seconds.get(name.replace("+", "x"), 8.0)
        store.timings.add(
            name, model_of(metric.signature()), Timing(len(sizes), sum(sizes), took, sum(sizes) / len(sizes))
        )


def test_defaults_fit_the_task_and_leave_out_what_takes_long(store: Store, project: int) -> None:
    time_all(store, project, bartscorexx=7200.0)
    at = run(project=str(project))
    assert not at.exception
    assert set(registry.STANDARD) - set(MetricBoxes(at).value) == {"ter", "bartscore++"}
    assert "Not preselected (outputs look like summaries): TER." in words(at)
    assert "Not preselected (time for all outputs): BARTScore++ (2 h)." in words(at)
    assert "Time on this machine: about 1 min" in words(at)

    made = store.projects.create("articles").id
    segments = tuple(Segment("d", str(i), f"{i} {SOURCE}") for i in range(N))
    store.projects.add(made, Dataset(segments, tuple(Output("A", "d", str(i), f"text {i}") for i in range(N))))
    slow = registry.load_metric("bartscore++-faithfulness")
    sizes = [size_of(item, slow.spec) for _, item in store.projects.dataset(made).items()]
    timing = Timing(N, sum(sizes), 1800.0, sum(sizes) / N)
    store.timings.add(slow.spec.name, model_of(slow.signature()), timing)
    at = run(project=str(made))
    assert not at.exception
    assert "bartscore-faithfulness" in MetricBoxes(at).value
    assert slow.spec.name not in MetricBoxes(at).value
    assert "Default metrics cannot run here. Metrics without references are proposed." in words(at)
    assert "BARTScore++ faithfulness (30 min)" in words(at)

    made = store.projects.create("into Arabic").id
    arabic = "اجتمع المجلس يوم الثلاثاء"
    store.projects.add(
        made, Dataset((Segment("d", "1", "The council met.", (arabic,)),), (Output("A", "d", "1", arabic),))
    )
    at = run(project=str(made))
    assert not at.exception
    assert set(MetricBoxes(at).value) == {"chrf", "bleu", "ter", "rouge1", "rouge2", "rougeL"}
    assert "trained on English; outputs look like Arabic script. Scores of BARTScore F, " in words(at)
    assert "does not read the language of the outputs): BARTScore F, BARTScore P, " in words(at)


def test_a_sample_and_the_open_segment_are_jobs_of_their_own(store: Store, project: int) -> None:
    time_all(store, project)
    for choice, n in (("sample", 10), ("segment", 1)):
        at = run(project=str(project))
        MetricBoxes(at).set_value(["chrf"]).run()
        next(b for b in at.button_group if b.key and b.key.startswith("scope-")).set_value(choice).run()
        assert ("about 2 s" if n == 10 else "about 1 s") in words(at)
        at.button(key=f"score-{project}").click().run()
        assert not at.exception
        [job] = [j for j in store.jobs.recent(project) if j.state == "queued"]
        assert (len(job.segments), job.metrics) == (n, ("chrf",))
        store.jobs.cancel(job.id)
    assert job.segments == (SegmentKey("d", "0"),)
    assert MetricBoxes(run(project=str(project))).value == ["chrf"], "metrics that were left out are chosen again"


def test_a_long_job_scores_the_open_segment_first(store: Store, project: int) -> None:
    at = run(project=str(project))
    MetricBoxes(at).set_value(["chrf", "bartscore++"]).run()
    time_all(store, project, bartscorexx=7200.0)
    at.run()
    assert MetricBoxes(at).value == ["chrf", "bartscore++"], "an estimate replaces the metrics that were chosen"
    assert "Time on this machine: about 2 h (BARTScore++ 2 h, 1 other 8 s). This segment is scored first." in words(at)
    at.button(key=f"score-{project}").click().run()
    assert [j.segments for j in reversed(store.jobs.recent(project))] == [(SegmentKey("d", "0"),), ()]
    assert "computing time" in at.dataframe[0].value.columns
    assert [b.label for b in at.button if "Cancel" in b.label] == [
        "Cancel scoring (2 jobs)", "Cancel scoring: summaries, 1 segment", "Cancel scoring: summaries, all outputs",
    ]  # fmt: skip
    assert at.dataframe[0].value["left"].tolist() == [2, 2, 80, 80]


def test_an_unknown_time_is_measured_and_scoring_can_start(store: Store, project: int) -> None:
    at = run(project=str(project))
    MetricBoxes(at).set_value(["chrf", "rouge1"]).run()
    at.button(key=f"estimate-{project}").click().run()
    assert [(j.metrics, j.timing) for j in store.jobs.recent(project)] == [(("chrf", "rouge1"), True)]
    assert "Measuring the speed of 2 metrics" in words(at)
    assert [b.label for b in at.button if str(b.key).startswith("cancel-")] == ["Skip the estimate"]
    assert "Not scored yet" in words(at)
    at = run(project=str(project))
    assert "The time appears here" in words(at)
    at.button(key=f"score-{project}").click().run()
    assert not store.jobs.recent(project)[0].timing, "scoring waits for the estimate"


def test_an_estimate_from_few_outputs_is_called_rough(store: Store, project: int) -> None:
    time_all(store, project)
    metric, data = registry.load_metric("chrf"), store.projects.dataset(project)
    size = sum(size_of(item, metric.spec) for _, item in data.items()) / (2 * N)
    for _ in range(8):  # the newest ones count
        store.timings.add("chrf", model_of(metric.signature()), Timing(0, round(size), 1.0, size))
    assert "A rough estimate, from fewer than 8 outputs: chrF." in words(run(project=str(project)))
    store.projects.add(project, Dataset((), (Output("C", "d", "0", "A 0"),)))  # as system A
    store.jobs.enqueue(project, ["chrf"])
    at = run(project=str(project))
    assert at.dataframe[0].value["left"].tolist() == [80]
    [caption] = [c for c in at.caption if "distinct" in c.value]
    assert (caption.value, "computed once" in caption.help) == ("80 distinct of 81 outputs", True)


def scored(store: Store, project: int, name: str) -> None:
    """Store a score of every output."""
    values = {content_key(*item): Value(1.0) for _, item in store.projects.dataset(project).items()}
    store.scores.put(
        name, for_dataset(registry.load_metric(name), store.projects.dataset(project)).signature(), values, 1.0
    )


def opened(at: AppTest, project: int) -> AppTest:
    """The page with the box of the panel open, which is closed once there are scores."""
    at.session_state[f"compare-scoring-{project}"] = True
    return at.run()


def test_the_choice_of_metrics_stays_until_it_is_changed(store: Store, project: int) -> None:
    at = run(project=str(project))
    before = MetricBoxes(at).value
    at.button(key=f"score-{project}").click().run()
    scored(store, project, "chrf")
    assert MetricBoxes(opened(at.run(), project)).value == before, "the default choice stays while a job runs"
    for job in store.jobs.recent(project):
        store.jobs.cancel(job.id)
    at.run()  # the page is drawn twice, because the job has ended
    assert MetricBoxes(opened(at, project)).value == [name for name in before if name != "chrf"]

    MetricBoxes(at).set_value(["bleu", "chrf"]).run()
    at.button(key=f"score-{project}").click().run()
    at = at.switch_page("pages/projects.py").run().switch_page("pages/compare.py")
    assert MetricBoxes(opened(at, project)).value == ["chrf", "bleu"]
    scored(store, project, "bleu")
    queued = len(store.jobs.recent(project))
    opened(at, project).button(key=f"score-{project}").click().run()
    assert "Nothing to compute. These metrics have scored all outputs." in words(at)
    MetricBoxes(at).set_value([]).run()
    at.button(key=f"score-{project}").click().run()
    assert "Nothing to compute. Choose at least one metric." in words(at)
    assert len(store.jobs.recent(project)) == queued


def test_a_cancelled_job_says_what_is_kept_and_can_be_finished(store: Store, project: int) -> None:
    job = store.jobs.enqueue(project, ["chrf", "bleu"])
    scored(store, project, "chrf")
    store.jobs.cancel(job.id)
    for name in ("compare", "projects"):
        at = run(name, project=str(project))
        assert "Scoring was cancelled. 80 of 160 scores of 2 metrics are kept." in words(at)
    at.button(key=f"finish-cancelled-{project}").click().run()
    assert [j.metrics for j in store.jobs.recent(project) if j.state == "queued"] == [("chrf", "bleu")]
    assert "Scoring was cancelled" not in words(at)
    store.jobs.cancel(store.jobs.recent(project)[0].id)
    scored(store, project, "bleu")
    assert "Scoring was cancelled" not in words(at.run())
