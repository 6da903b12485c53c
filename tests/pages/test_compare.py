"""The Compare page over a real database, without a browser; the cards themselves are in the browser tests."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.data import Dataset, Output, OutputKey, RatedOutput, Segment, Span, Value
from core.mqm.actions import label_actions
from core.ports.store import Store
from core.refine.result import Refinement, Token
from pages._ui import components
from pages._ui.annotate import identity
from pages._ui.compare import all_segments
from pages._ui.shared import page
from tests.pages.metric_boxes import MetricBoxes
from tests.pages.opened_page import run
from tests.stores import put_scores

TEXTS = {"alpha": ("The river rose.", "Bananas <b>x</b>"), "beta": ("The river burst its banks.", "=1+1")}
SIGN = "bartscore++|lambda:1|v:1|model:bundled/bart-mini|rev:abc"


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the cards are given, in order."""
    given: list[dict[str, Any]] = []
    build = components.build
    drawn = {components.CARDS: lambda **kw: given.append(kw["data"])}
    monkeypatch.setattr(components, "build", lambda of: drawn.get(of) or build(of))
    return given


@pytest.fixture
def project(store: Store) -> int:
    segments = tuple(Segment("d", str(i + 1), f"source {i + 1}", ("The river burst its banks.",)) for i in range(2))
    outputs = tuple(Output(s, "d", str(i + 1), t) for s, texts in TEXTS.items() for i, t in enumerate(texts))
    made = store.projects.create("rivers *and* banks").id
    store.projects.add(made, Dataset(segments, outputs))
    return made


def score(store: Store, project: int) -> None:
    refine(store, project, "bartscore++", SIGN, -1.0, [-1.0, -2.0, -3.0, -4.0])


def refine(store: Store, project: int, name: str, signature: str, score: float, before: Sequence[float]) -> None:
    """Store refinements with this score, of outputs that had these scores `before`."""
    values = {}
    for (key, item), old in zip(store.projects.dataset(project).items(), before, strict=True):
        analysis = Refinement("f", 0, False, "", item.hypothesis, old, -0.5, -0.1, (Token("x", 0, 1, -1.0),), ())
        values[key] = Value(score, parts=analysis.parts(), detail=analysis.to_json())
    put_scores(store, project, name, values, signature)


def open_page(project: int, **query: str) -> AppTest:
    at = run(project=str(project), **query)
    assert not at.exception
    assert not at.error, at.error[0].value
    return at


def test_a_scored_project_is_read_searched_and_sorted(store: Store, project: int, seen: list[Any]) -> None:
    score(store, project)
    at = open_page(project)
    data = seen[-1]
    assert [c["name"] for c in data["cards"]] == ["alpha", "beta"]
    assert all(c["status"] == "no_edit" and c["exp"] >= 0 for c in data["cards"])
    assert (data["position"], data["total"], data["lam"]) == (1, 2, "1")
    assert any(p["label"].startswith("SFHOT, text") and p["value"] == "4.9" for p in data["presets"])
    assert not [s for s in at.selectbox if s.label == "Refinement"], "one refinement leaves no choice"
    assert "refinement" not in at.query_params
    box = next(e for e in at.expander if e.label.startswith("Compute scores"))
    assert not box.children, "the scoring panel is drawn when its box is opened"
    assert box in list(at.main.children.values())[:4], "the way to more scores is at the end of the page"
    at.session_state[f"compare-scoring-{project}"] = True
    at.run()
    assert MetricBoxes(at).boxes

    search = f"compare-search-{project}"
    at.text_input(key=search).set_value("BANANAS").run()
    assert (seen[-1]["segment"], seen[-1]["total"]) == ("2", 1)
    at.text_input(key=search).set_value("nowhere").run()
    assert "No segment matches" in at.info[0].value
    at.text_input(key=search).set_value("").run()
    at.multiselect(key=f"compare-systems-{project}").set_value(["beta"]).run()
    assert [c["name"] for c in seen[-1]["cards"]] == ["beta"]
    at.multiselect(key=f"compare-systems-{project}").set_value([]).run()
    at.toggle(key="compare-blind").set_value(True).run()
    assert sorted(c["name"] for c in seen[-1]["cards"]) == ["Output A", "Output B"]
    assert "alpha" not in str(seen[-1])

    keys = store.projects.index(project).keys()
    put_scores(store, project, "chrf", dict.fromkeys(keys, Value(50.0)), "chrf|v:1")
    at.run()
    of = {s.label: s.value for s in at.selectbox}
    assert of["Compared with"] != of["System means of"], "charts keep the choice from before there were other scores"

    at = open_page(project)
    at.radio(key="compare-sort").set_value("a metric").run()
    assert (seen[-1]["position"], seen[-1]["segment"]) == (1, "2")  # later outputs were given larger distances
    assert not at.error


def test_addresses_systems_and_the_worst_outputs_are_shown(store: Store, project: int, seen: list[Any]) -> None:
    score(store, project)
    at = open_page(project, doc="d", segment="2", **{"lambda": "inf"})
    assert (seen[-1]["segment"], seen[-1]["lam"]) == ("2", "inf")
    assert at.query_params["lambda"] == "inf"
    for query in ({"doc": "no", "segment": "such"}, {"lambda": "-3"}, {"lambda": "much"}):
        open_page(project, **query)
        assert (seen[-1]["position"], seen[-1]["lam"]) == (1, "1"), query
    at = run(project=str(project), filter="fluency<3")
    assert [e.value for e in at.error] == [
        "**The filter names an unknown score**  \nfound “fluency”; expected BARTScore\\+\\+  \n"
        "Put a text with such signs into quotes to search for it"
    ]
    assert seen[-1]["total"] == 2, "a wrong filter filters nothing"

    label(store, project)
    score(store, project)
    at = open_page(project)
    (table,) = (d for d in at.dataframe if list(d.value.columns)[:1] == ["system"])
    assert list(table.value["system"]) == ["alpha", "beta"]
    assert list(table.value["MQM (labels) ↑"]) == [-5.0, 0.0]  # numbers, so that they sort
    assert {d.proto.placeholder for d in at.dataframe} == {"–"}, "a missing score is None"
    assert "● 0.0".encode() in table.proto.arrow_data.styler.display_values
    assert any("Outputs with a score: MQM (labels) 2 of 4" in c.value.replace("\\", "") for c in at.caption)
    assert {"Systems as CSV", "LaTeX table"} <= {b.label for b in at.get("download_button")}
    assert "[Systems ↓](#systems)" in [m.value for m in at.markdown]

    at.segmented_control(key=f"compare-list-of-{project}").set_value("outputs").run()
    assert {"alpha", "beta"} == set(worst(at)["system"])
    at.selectbox(key=f"compare-worst-{project}").set_value("bartscore++").run()
    assert len(at.dataframe[-1].value) == 4
    at.session_state[all_segments.SPOT] = (project, OutputKey("beta", "d", "1"))
    at.run()
    assert seen[-1]["spot"] == "beta"

    at = open_page(project)
    at.toggle(key="compare-blind").set_value(True).run()
    assert not [d for d in at.dataframe if list(d.value.columns)[:1] == ["system"]]
    assert "[Systems ↓](#systems)" not in [m.value for m in at.markdown]
    at.segmented_control(key=f"compare-list-of-{project}").set_value("outputs").run()
    assert not {"alpha", "beta"} & set(worst(at)["system"])
    at.session_state[all_segments.SPOT] = (project, OutputKey("beta", "d", "1"))
    at.run()
    assert seen[-1]["spot"] in {c["name"] for c in seen[-1]["cards"]} - {"beta"}


def test_a_refinement_is_chosen_and_kept_in_the_address(store: Store, project: int, seen: list[Any]) -> None:
    score(store, project)
    name, variant = "bartscore++|k:5", "bartscore++|lambda:1|v:1|variant:f|k:5|prompt:encoder(Such as)|model:x|rev:abc"
    refine(store, project, name, variant, -2.0, [-4.0] * 4)

    def presets() -> dict[str, str]:
        return {p["label"].split(",")[0]: f"{p['label']}: {p.get('hint')}" for p in seen[-1]["presets"]}

    at = open_page(project)
    box = at.selectbox(key=f"compare-refinement-{project}")
    assert (box.value, box.options) == ("bartscore++", ["BARTScore++", "BARTScore++ (k = 5)"])
    assert {c["exp"] for c in seen[-1]["cards"]} != {3.5}
    assert presets()["WMT20 de-en"] == (
        "WMT20 de-en, translation (fitted with other prompts than yours): F, prompt list mt on the encoder"
    )
    box.set_value(name).run()
    assert not at.exception
    assert {c["exp"] for c in seen[-1]["cards"]} == {3.5}
    assert [m["name"] for m in seen[-1]["metrics"] if m["main"]] == [name]
    assert presets()["WMT20 de-en"] == "WMT20 de-en, translation: F, prompt list mt on the encoder"
    assert presets()["Rank19 factuality"] == (
        "Rank19 factuality, summaries (fitted with other direction and prompts than yours): faithfulness, no prompt"
    )
    assert at.query_params["refinement"] == name
    at.switch_page("pages/projects.py").run()
    at.switch_page("pages/compare.py").run()
    assert {c["exp"] for c in seen[-1]["cards"]} == {3.5}
    open_page(project, refinement=name)
    assert {c["exp"] for c in seen[-1]["cards"]} == {3.5}
    open_page(project, refinement="no|such:thing")
    assert {c["exp"] for c in seen[-1]["cards"]} != {3.5}


def label(store: Store, project: int) -> None:
    rated = [
        RatedOutput(OutputKey("alpha", "d", "2"), "ann", (Span("output", 0, 7, "Bananas", "Major", "Accuracy"),)),
        RatedOutput(OutputKey("beta", "d", "2"), "ann", ()),
    ]
    for (who, segment), actions in label_actions(rated).actions.items():
        store.labels.append(project, who, segment, actions)


def test_labels_are_on_the_cards_and_order_and_filter_segments(store: Store, project: int, seen: list[Any]) -> None:
    label(store, project)
    at = open_page(project)
    assert "Not scored yet" in at.info[0].value
    assert [c["layers"] for c in seen[-1]["cards"]] == [[None], [None]]
    assert [w.value.replace("\\", "") for w in at.warning] == [
        "MQM (labels): 2 of 4 outputs have a score. The system means are over these only.  \n"
        "MQM (labels): label the other outputs on Annotate."
    ]
    (segments,) = (d for d in at.dataframe if "segment" in d.value)
    config = json.loads(segments.proto.columns)["MQM (labels) ↑"]
    assert "always Google MQM (major 5, minor 1," in config["help"].replace("\\", "")
    assert config["type_config"]["format"] == "%.1f"
    at.radio(key="compare-sort").set_value("a metric").run()
    assert seen[-1]["segment"] == "2"
    assert [[len(lane) for lane in c["layers"]] for c in seen[-1]["cards"]] == [[1], [0]]
    assert [m["origin"] for m in seen[-1]["metrics"]] == ["labels"]

    at = open_page(project)
    at.text_input(key=f"compare-search-{project}").set_value("mqm<-4 system:alpha").run()
    assert (seen[-1]["segment"], seen[-1]["total"]) == ("2", 1)
    assert at.query_params["filter"] == "mqm<-4 system:alpha"
    at.multiselect(key=f"compare-systems-{project}").set_value(["alpha"]).run()
    again = open_page(project, filter="mqm<-4", system="alpha")
    assert again.text_input(key=f"compare-search-{project}").value == "mqm<-4"
    assert again.multiselect(key=f"compare-systems-{project}").value == ["alpha"]
    at.switch_page("pages/projects.py").run()
    at.switch_page("pages/compare.py").run()
    assert at.text_input(key=f"compare-search-{project}").value == "mqm<-4 system:alpha"
    assert [c["name"] for c in seen[-1]["cards"]] == ["alpha"]


def test_who_annotates_sees_the_labels_of_others_only_when_asked(
    store: Store, project: int, seen: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    label(store, project)
    monkeypatch.setattr(identity, "rater", lambda: "bob")
    at = open_page(project, doc="d", segment="2")
    assert seen[-1]["hidden"]
    assert not seen[-1]["metrics"]
    assert not seen[-1]["layers"]
    at.toggle(key=f"compare-labels-{project}").set_value(True).run()
    assert not seen[-1]["hidden"]
    assert seen[-1]["cards"][0]["layers"][0][0]["quote"] == "Bananas"
    assert any("would bias your labels" in c.value for c in at.caption)


def worst(at: AppTest) -> Any:
    """The table of the worst outputs, whose texts and errors are these."""
    table = at.dataframe[-1].value
    assert list(table.columns[:6]) == ["document", "segment", "system", "output", "errors", "MQM (labels) ↑"]
    assert [(row["output"], row["errors"]) for _, row in table.iterrows()] == [
        ("Bananas <b>x</b>", "1 Major"),
        ("=1+1", "no error"),
    ]
    return table


def test_the_foot_of_a_large_project_waits_for_the_cards(
    store: Store, project: int, seen: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    score(store, project)
    monkeypatch.setattr(all_segments, "AT_ONCE", 1)
    shown: list[Callable[[], None]] = []
    monkeypatch.setattr(page, "small_component", lambda *_: lambda on_shown_change, **_: shown.append(on_shown_change))
    at = open_page(project)
    assert seen
    assert not at.subheader
    assert "Loading charts and lists …" in [c.value for c in at.caption]
    shown[0]()
    at.run()
    assert "All segments" in [s.value for s in at.subheader]
    assert len(shown) == 1


def test_an_unscored_project_shows_texts_that_are_imported(store: Store, project: int, seen: list[Any]) -> None:
    score(store, project)
    open_page(project)
    assert {c["status"] for c in seen[-1]["cards"]} == {"no_edit"}
    more = tuple(Segment("d", str(i + 1), f"source {i + 1}", ("A second reference.",)) for i in range(2))
    store.projects.add(project, Dataset(more, ()))  # the pages are not told of it
    at = open_page(project)
    assert "A second reference." in json.dumps(seen[-1])
    assert {c["status"] for c in seen[-1]["cards"]} == {"missing"}
    assert "Not scored yet" in at.info[0].value

    at = open_page(project)
    assert "Not scored yet" in at.info[0].value
    assert {c["status"] for c in seen[-1]["cards"]} == {"missing"}
    MetricBoxes(at).set_value(["chrf"]).run()
    at.button(key=f"score-{project}").click().run()
    assert [j.metrics for j in store.jobs.recent(project)] == [("chrf",)]
    assert "Scoring is running" in at.info[0].value
