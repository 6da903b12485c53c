"""Robustness: a change is scored and kept, a suite is made, scored and opened, and only what failed or was stopped is scored again."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.testing.v1 import AppTest

from core.data import Dataset, Item, Output, Segment, Value
from core.errors import UserError
from core.metrics import ranges, registry
from core.metrics.base import Metric, MetricSpec
from core.ports.robustness import KeptCase, SavedScore
from core.ports.store import Store
from core.progress import Progress
from core.services.robustness import break_metric as service
from core.services.robustness.break_metric import Reaction
from core.services.robustness.tour import STOPS
from pages._ui.robustness import break_metric
from pages._ui.robustness.controls import diff_html
from tests.pages.opened_page import new_project, run
from tests.pages.said import words

GOOD = "She has bought 20 cars in <b>Berlin</b>."
SEGMENTS = (
    Segment("d", "1", "Sie hat 20 Autos gekauft.", ("She bought 20 cars in Berlin.", "In Berlin she got 20 cars.")),
    Segment("d", "2", "Das Haus ist alt.", ("The house is old.", "The building is an old one.")),
)
STRINGS = ["chrf", "ter"]


def filled(store: Store, segments: tuple[Segment, ...] = SEGMENTS) -> int:
    project = new_project(store)
    texts = (GOOD, "The house is ancient.")
    outputs = tuple(Output("A", s.doc_id, s.segment_id, t) for s, t in zip(segments, texts, strict=False))
    store.projects.add(project, Dataset(segments, outputs))
    return project


def opened(project: int, section: str = "Break a metric", **state: object) -> AppTest:
    chosen = {"robustness-metrics": STRINGS, "suite-metrics": STRINGS, "robustness-section": section}
    chosen |= {name.replace("_", "-"): value for name, value in state.items()}
    return run("robustness", project, chosen)


def test_texts_stand_in_the_differences_as_they_are() -> None:
    shown = diff_html("a <i> & c", "a <b> & c")
    assert shown.endswith(">a &lt;</span><del>i</del><ins>b</ins><span>&gt; &amp; c</span></p>")


@pytest.mark.extended
def test_after_cancel_nothing_else_is_scored(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []
    # `append` returns None, as `run_cached` does once Cancel was pressed
    monkeypatch.setattr(break_metric, "run_cached", lambda key, words, *_: begun.append(words))
    monkeypatch.setattr(MetricSpec, "needs_model", property(lambda spec: spec.name == "ter"))
    at = opened(filled(store))
    assert not at.error
    assert len(begun) == 1
    assert not any("None of these metrics" in info.value for info in at.info)


def test_a_first_change_is_scored_and_saved_once(store: Store) -> None:
    project = filled(store)
    at = opened(project)
    assert at.text_area(key="robustness-good").value == GOOD
    assert at.text_area(key="robustness-changed").value != GOOD
    assert "0 of 2 metrics miss the error · 1 barely notices it: chrF" in words(at)
    shown = at.dataframe[0].value
    assert list(shown["metric"]) == ["TER ↓", "chrF ↑"], "the largest drop first"
    assert list(shown["verdict"]) == ["notices", "barely notices"]
    assert [break_metric.FORMATS["change"](v) for v in (-0.0192, -0.0002, 0.0, 1e-5)] == [
        "−0.019",
        "−0.0002",
        "±0",
        "+0.00001",
    ]
    assert shown["change"][1] < 0 < shown["change"][0]  # TER is an error rate: it grows
    drawn = "".join(str(e.proto.body) for e in at.get("html"))
    assert "&lt;b&gt;" in drawn
    assert "<b>" not in drawn
    at.button(key="keep-desk").click().run()
    assert [s.value.replace("\\", "") for s in at.success] == ["Saved in demo"]
    at.button(key="keep-desk").click().run()
    assert "This case is in “demo” already" in words(at)
    assert len(store.cases.list(project)) == 1
    at.text_area(key="robustness-changed").set_value(GOOD).run()
    assert "Nothing is changed yet" in words(at)

    at = opened(filled(store), robustness_every=True)
    assert "✕: misses the error" in words(at)


@pytest.mark.extended
def test_scores_of_models_come_after_those_of_other_metrics(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    spinner = st.spinner

    def heard(text: str, *, show_time: bool = False) -> AbstractContextManager[None]:
        said.append(text)
        return spinner(text, show_time=show_time)

    monkeypatch.setattr(st, "spinner", heard)
    monkeypatch.setattr(MetricSpec, "needs_model", property(lambda spec: spec.name == "ter"))
    waiting = "1 more metric. The first scores take some seconds"
    at = opened(filled(store))
    assert list(at.table[0].value["metric"]) == ["chrF ↑"]
    assert not at.dataframe
    assert waiting in words(at)
    assert not any(waiting in text for text in said)
    at.session_state["errorscope_shown"] = {"reactions"}  # as the browser says when it shows them
    at.run()
    assert not at.exception
    assert any(waiting in text for text in said)
    assert list(at.dataframe[0].value["metric"]) == ["TER ↓", "chrF ↑"]


def test_a_typed_change_is_kept_until_a_kind_of_error_is_chosen(store: Store) -> None:
    project = filled(store)
    at = opened(project)
    old = at.pills[0]
    assert old.value
    at.text_area(key="robustness-changed").set_value("She bought 20 cars in Berlin.").run()
    assert "2 of 2 metrics miss the error: TER, chrF" in words(at)
    new = at.pills[0]
    assert new.value is None
    assert new.proto.id != old.proto.id  # so the old choice, which may come with the next click, is nobody's
    at.button(key="keep-desk").click().run()
    assert not at.exception
    (case,) = store.cases.list(project)
    assert (case.collection, case.phenomenon, case.good) == ("demo", "by hand", GOOD)
    assert [(s.metric, s.misses_error) for s in case.scores] == [("chrf", True), ("ter", True)]
    assert all(s.signature.startswith(s.metric) for s in case.scores)
    at.number_input(key="robustness-seed").set_value(3).run()
    assert at.text_area(key="robustness-changed").value == "She bought 20 cars in Berlin."
    at.pills[0].set_value("negation").run()
    assert "not" in at.text_area(key="robustness-changed").value
    at.pills[0].set_value(None).run()
    assert at.text_area(key="robustness-changed").value == GOOD


def test_choices_sent_again_do_not_replace_a_typed_text(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the server has forgotten a widget, Streamlit calls its on_change with the value that was there before."""
    on_change: dict[str, Callable[[], object]] = {}
    for kind in ("pills", "number_input", "selectbox"):
        method = getattr(DeltaGenerator, kind)

        def drawn(self: DeltaGenerator, *given: Any, real: Any = method, **options: Any) -> Any:
            if options.get("on_change"):
                on_change[options["key"]] = partial(options["on_change"], *options.get("args", ()))
            return real(self, *given, **options)

        monkeypatch.setattr(DeltaGenerator, kind, drawn)
    at = opened(filled(store))
    old = str(at.pills[0].key)
    at.text_area(key="robustness-changed").set_value("typed").run()
    new, state = str(at.pills[0].key), at.session_state.to_dict()
    monkeypatch.setattr(st, "session_state", state)
    state[old] = "negation"
    for key in (old, "robustness-seed", "robustness-segment", "robustness-system"):
        on_change[key]()
        assert state["robustness-changed"] == "typed", key
    state[new] = "negation"
    on_change[new]()
    assert "not" in str(state["robustness-changed"]), "the choice on the screen is ignored"


def test_texts_are_typed_or_opened_from_saved_cases(store: Store) -> None:
    at = opened(store.projects.create("empty").id)
    assert "Choose a segment" not in words(at)
    assert "This project has no segments. Type an output" in words(at)
    at.text_area(key="robustness-good").set_value("We will go.")
    at.text_area(key="robustness-changed").set_value("We will not go.").run()
    assert "Metrics need a reference or a source" in words(at)
    at.text_area(key="robustness-reference").set_value("We shall go.").run()
    assert "the error" in words(at)

    project = filled(store)
    at = opened(project, "Saved cases")
    assert "This project has no saved cases yet" in words(at)
    scores = (SavedScore("chrf", "chrf|v:1", True, 50.0, 60.0), SavedScore("nli", "nli", True, None, 0.5, "no words"))
    case = store.cases.keep(
        project, KeptCase("demo", "negation", None, "A *ref*.", "It is.", "It is not.", "+ not", scores)
    )
    at.run()
    assert "negation** · + not" in words(at)
    at.button(key=f"open-kept-{case.id}").click().run()
    assert at.text_area(key="robustness-changed").value == "It is not."
    at.segmented_control[0].set_value("Saved cases").run()
    at.button(key=f"remove-kept-{case.id}").click().run()
    assert not at.exception
    assert store.cases.list(project) == []


def test_a_suite_is_made_scored_and_a_failure_opened_and_kept(store: Store) -> None:
    project = filled(store)
    at = opened(project, "Adversarial suite")
    at.multiselect(key="suite-names").set_value(["negation", "number"]).run()
    at.button(key="suite-run").click().run()
    assert not at.exception
    # "not" in the second reference's place: the perturbed reference is nearer to the reference than the paraphrase is
    assert "No metric prefers the good text in any case" in words(at)
    assert "most often" not in words(at)
    # a number in the first only, a negation in both
    assert any("3 cases made; 1 not possible" in e.label for e in at.expander)
    at.button(key="keep-suite-0").click().run()
    (case,) = store.cases.list(project)
    assert (case.phenomenon, case.reference) == ("negation", "She bought 20 cars in Berlin.")
    assert case.what == "bought → did not buy"
    at.button(key="open-suite-0").click().run()
    assert not at.exception
    assert at.text_area(key="robustness-good").value == "In Berlin she got 20 cars."
    assert at.text_area(key="robustness-changed").value == case.changed
    assert "2 of 2 metrics miss the error" in words(at)


def test_without_references_cases_come_from_a_file(store: Store) -> None:
    project = filled(store, (Segment("d", "1", "Quelle"),))
    at = opened(project, "Adversarial suite")
    assert "No segment of this project has a reference" in words(at)
    assert at.selectbox(key=f"suite-origin-{project}").options == ["A file in MENLI’s format"]
    content = b"error,id,source,ref,r,hyp_para,hyp_adv_based,hyp_adv_free\nnum,1,,It is 5.,,It is 5!,Was it 99 then,\n"
    at.get("file_uploader")[0].set_value(("menli.csv", content, "text/csv")).run()
    at.button(key="suite-run").click().run()
    assert not at.exception
    assert "All metrics are equal: each prefers the good text in 100.0 % of the cases" in words(at)
    assert "1 case." in words(at)
    assert "No case matches" in words(at)


def test_the_example_of_a_judge_says_what_is_missing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("ERRORSCOPE_JUDGE", "ERRORSCOPE_JUDGES"):
        monkeypatch.delenv(variable, raising=False)
    at = opened(filled(store), "Stress tests")
    at.button(key=f"lab-tour-{len(STOPS) - 1}").click().run()
    assert not at.exception
    assert "This example asks a judge" in words(at)
    assert "ERRORSCOPE_JUDGE" in words(at).replace("\\", "")


def suite(project: int) -> AppTest:
    at = opened(project, "Adversarial suite")
    at.multiselect(key="suite-names").set_value(["negation"]).run()
    return at


class Watched:
    """chrF and TER, the first broken while `broken`; how many texts each was asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.broken, self.asked = True, {"chrf": 0, "ter": 0}
        monkeypatch.setattr(registry, "load_metric", lambda name, load=registry.load_metric: self.of(load(name), name))

    def of(self, metric: Metric, name: str) -> Metric:
        def score(items: Sequence[Item], progress: Progress) -> list[Value]:
            self.asked[name] += len(items)
            if self.broken and name == "chrf":
                raise UserError("no room")
            return metric.score(items, progress)

        return replace(metric, score=score) if name in self.asked else metric


def test_only_a_metric_that_failed_is_tried_again_when_asked(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(monkeypatch)
    at = suite(filled(store))
    at.button(key="suite-run").click().run()
    assert not at.exception
    first = dict(watched.asked)
    assert first == {"chrf": 8, "ter": 4}  # all four, then halves, until two texts fail with one message
    assert "TER prefers the good text" in words(at) or "TER never" in words(at)
    assert "left out because they have no score: chrF 2" in words(at)
    at.run()
    assert watched.asked == first  # a rerun tries nothing
    at.button(key="suite-run").click().run()
    assert watched.asked == {"chrf": 16, "ter": 4}
    watched.broken = False
    next(b for b in at.button if b.label == "Retry").click().run()
    assert watched.asked == {"chrf": 20, "ter": 4}
    assert not at.exception
    assert "[" in at.dataframe[0].value["chrF"][0]
    assert "Part of this failed" not in words(at)


def test_a_failed_metric_of_a_typed_text_is_tried_when_asked(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(monkeypatch)
    at = opened(filled(store))
    first = dict(watched.asked)
    assert first == {"chrf": 4, "ter": 2}  # both texts, then each alone
    assert "0 of 1 metric miss the error" in words(at)
    at.run()
    assert watched.asked == first
    watched.broken = False
    next(b for b in at.button if b.label == "Retry").click().run()
    assert watched.asked == {"chrf": 6, "ter": 2}
    assert "0 of 2 metrics miss the error" in words(at)
    at.text_area(key="robustness-changed").set_value("She bought 20 cars in Berlin.").run()
    assert watched.asked == {"chrf": 7, "ter": 3}  # the good output is scored already


@pytest.mark.extended
def test_a_range_that_was_fitted_since_is_used_on_the_desk(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    shares: list[tuple[float, float]] = []

    def watched(*given: object, real: Callable[..., list[Reaction]] = service.reactions) -> list[Reaction]:
        found = real(*given)
        shares.extend((r.share or 0, r.score.change or 0) for r in found if r.spec.name == "ter")
        return found

    monkeypatch.setattr(service, "reactions", watched)
    at = opened(filled(store))
    ranges.fit({registry.load_metric("ter").signature(): [0.0, 50.0]})
    at.run()
    assert not at.exception
    assert len(shares) == 2
    assert shares[-1][0] == pytest.approx(shares[-1][1] / 50)
    assert shares[0][0] != pytest.approx(shares[-1][0])
