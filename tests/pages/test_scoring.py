"""The scoring panel: time, the metrics chosen at first, their options, and which outputs a job is for."""

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.data import Dataset, Output, Segment, SegmentKey, Value
from core.metrics import registry
from core.metrics.registry import load_metric
from core.ports.scores import Timing
from core.ports.store import Store
from core.scoring.dataset import for_dataset
from core.scoring.timing import model_of, size_of
from core.signature import content_key
from tests.pages.metric_boxes import MetricBoxes
from tests.pages.opened_page import run
from tests.pages.said import words

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
    at = run(project=project)
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
    at = run(project=made)
    assert "bartscore-faithfulness" in MetricBoxes(at).value
    assert slow.spec.name not in MetricBoxes(at).value
    assert "Default metrics cannot run here. Metrics without references are proposed." in words(at)
    assert "BARTScore++ faithfulness (30 min)" in words(at)

    made = store.projects.create("into Arabic").id
    arabic = "اجتمع المجلس يوم الثلاثاء"
    store.projects.add(
        made, Dataset((Segment("d", "1", "The council met.", (arabic,)),), (Output("A", "d", "1", arabic),))
    )
    at = run(project=made)
    assert set(MetricBoxes(at).value) == {"chrf", "bleu", "ter", "rouge1", "rouge2", "rougeL"}
    assert "trained on English; outputs look like Arabic script. Scores of BARTScore F, " in words(at)
    assert "does not read the language of the outputs): BARTScore F, BARTScore P, " in words(at)


def test_a_sample_and_the_open_segment_are_jobs_of_their_own(store: Store, project: int) -> None:
    time_all(store, project)
    for choice, n in (("sample", 10), ("segment", 1)):
        at = run(project=project)
        MetricBoxes(at).set_value(["chrf"]).run()
        next(b for b in at.button_group if b.key and b.key.startswith("scope-")).set_value(choice).run()
        assert ("about 2 s" if n == 10 else "about 1 s") in words(at)
        at.button(key=f"score-{project}").click().run()
        [job] = [j for j in store.jobs.recent(project) if j.state == "queued"]
        assert (len(job.segments), job.metrics) == (n, ("chrf",))
        store.jobs.cancel(job.id)
    assert job.segments == (SegmentKey("d", "0"),)
    assert MetricBoxes(run(project=project)).value == ["chrf"], "metrics that were left out are chosen again"


def test_a_long_job_scores_the_open_segment_first(store: Store, project: int) -> None:
    at = run(project=project)
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
    at = run(project=project)
    MetricBoxes(at).set_value(["chrf", "rouge1"]).run()
    at.button(key=f"estimate-{project}").click().run()
    assert [(j.metrics, j.timing) for j in store.jobs.recent(project)] == [(("chrf", "rouge1"), True)]
    assert "Measuring the speed of 2 metrics" in words(at)
    assert [b.label for b in at.button if str(b.key).startswith("cancel-")] == ["Skip the estimate"]
    assert "Not scored yet" in words(at)
    at = run(project=project)
    assert "The time appears here" in words(at)
    at.button(key=f"score-{project}").click().run()
    assert not store.jobs.recent(project)[0].timing, "scoring waits for the estimate"


def test_an_estimate_from_few_outputs_is_called_rough(store: Store, project: int) -> None:
    time_all(store, project)
    metric, data = registry.load_metric("chrf"), store.projects.dataset(project)
    size = sum(size_of(item, metric.spec) for _, item in data.items()) / (2 * N)
    for _ in range(8):  # the newest ones count
        store.timings.add("chrf", model_of(metric.signature()), Timing(0, round(size), 1.0, size))
    assert "A rough estimate, from fewer than 8 outputs: chrF." in words(run(project=project))
    store.projects.add(project, Dataset((), (Output("C", "d", "0", "A 0"),)))  # as system A
    store.jobs.enqueue(project, ["chrf"])
    at = run(project=project)
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
    at = run(project=project)
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


@pytest.fixture
def small(store: Store) -> int:
    made = store.projects.create("p").id
    store.projects.add(made, Dataset((Segment("d", "1", "s", ("r",)),), (Output("A", "d", "1", "text"),)))
    return made


def with_metrics(project: int, *metrics: str) -> AppTest:
    at = run("compare", project, {f"compare-scoring-{project}": True})  # the box of the panel, once there are scores
    MetricBoxes(at).set_value(metrics).run()
    return at


def start(at: AppTest, store: Store, project: int) -> tuple[str, ...]:
    at.button(key=f"score-{project}").click().run()
    return store.jobs.recent(project)[0].metrics


def test_changed_options_queue_an_expression_that_is_shown(store: Store, small: int) -> None:
    at = with_metrics(small, "chrf", "bartscore++", "rouge1")
    key = f"option-{small}-"
    at.number_input(key=key + "bartscore++-k").set_value(5)
    at.number_input(key=key + "bartscore++-rounds").set_value(8)
    at.selectbox(key=key + "bartscore++-nt").set_value("probability")
    at.toggle(key=key + "rouge1-stem").set_value(True)
    at.run()
    assert at.code[0].value == '--metrics "chrf,rouge1|stem:yes,bartscore++|k:5|rounds:8|nt:probability"'
    assert start(at, store, small) == ("chrf", "rouge1|stem:yes", "bartscore++|k:5|rounds:8|nt:probability")
    assert start(with_metrics(small, "chrf", "ter", "bartscore++"), store, small) == ("chrf", "ter", "bartscore++")

    at = with_metrics(small, "smartL")
    key = f"option-{small}-smartL-"
    matcher = at.selectbox(key=key + "matcher")
    assert matcher.proto.accept_new_options
    matcher.set_value("rougeL")
    at.selectbox(key=key + "against").set_value("reference").run()
    assert start(at, store, small) == ("smartL|matcher:rougeL|against:reference",)

    at = with_metrics(small, "bartscore++")
    key = f"option-{small}-bartscore++-"
    shown = {w.key for kind in (at.number_input, at.selectbox) for w in kind}
    assert {key + "overlap", key + "share"} <= shown
    assert key + "side" not in shown
    at.selectbox(key=key + "nt").set_value("off").run()
    assert not {key + "overlap", key + "share"} & {w.key for w in at.number_input}
    edits = at.pills(key=key + "edits")
    usual = edits.value
    edits.set_value([]).run()
    assert "some of insert, delete, substitute" in at.error[0].value
    at.button(key=f"score-{small}").click().run()
    assert "Correct the options" in at.info[-1].value
    at.pills(key=key + "edits").set_value(usual)
    at.text_area(key=key + "prompt-text-0").set_value("Such as").run()
    at.selectbox(key=key + "side").set_value("decoder").run()
    assert start(at, store, small) == ("bartscore++|nt:off|prompt:Such as|side:decoder",)


def test_phrases_are_written_or_filled_in_from_a_list(
    store: Store, small: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ERRORSCOPE_PROMPTS", "/no/such/file.json")
    at = with_metrics(small, "bartscore")
    key = f"option-{small}-bartscore-prompt-"
    assert "cannot be read" in at.error[0].value
    at.text_area(key=key + "text-0").set_value("a, b | c\n\n").run()
    assert start(at, store, small) == ("bartscore|prompt:a%2C b %7C c",)

    path = tmp_path / "p.json"
    path.write_text(json.dumps({"short": ["In short", "In brief"]}), encoding="utf-8")
    monkeypatch.setenv("ERRORSCOPE_PROMPTS", str(path))
    at = with_metrics(small, "bartscore")
    assert at.selectbox(key=key + "list").options == ["mt (1)", "short (2)"]
    at.selectbox(key=key + "list").set_value("short").run()
    assert at.text_area(key=key + "text-0").value == ""
    at.button(key=key + "list-insert").click().run()
    assert at.text_area(key=key + "text-1").value == "In short\nIn brief"
    assert start(at, store, small) == ("bartscore|prompt:In short;In brief",)


def test_the_panel_lists_variants_and_fits_missing_sources(store: Store, small: int) -> None:
    [(_, item)] = store.projects.dataset(small).items()
    metric = load_metric("chrf|beta:3")
    store.scores.put(metric.spec.name, metric.signature(), {content_key(*item): Value(1.0)}, 1.0)
    store.scores.put("chrf|gone:1", "chrf|v:0|gone:1", {content_key(*item): Value(1.0)}, 1.0)
    store.scores.put("bartscore|prompt:#9-12345678", "bartscore|v:1|x:1", {content_key(*item): Value(-1.0)}, 1.0)
    labels = MetricBoxes(with_metrics(small, "chrf")).labels
    assert list(labels)[:3] == ["chrf", "chrf|beta:3", "bleu"]
    assert "1 of 1 scored" in labels["chrf|beta:3"]
    assert labels["chrf"].endswith("the best one counts. Uses: reference.]")
    variant = next(text for text in labels.values() if "BARTScore F (9 prompts 12345678)" in text)
    assert "1 of 1 scored" in variant
    assert "ERRORSCOPE_PROMPTS" in variant
    assert "gone" not in " ".join(labels)

    made = store.projects.create("no source").id
    store.projects.add(made, Dataset((Segment("d", "1", None, ("r",)),), (Output("A", "d", "1", "text"),)))
    assert start(with_metrics(made, "smart1", "chrf"), store, made) == ("chrf", "smart1|against:reference")
