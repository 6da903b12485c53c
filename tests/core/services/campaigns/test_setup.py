"""The set-up of campaigns without its screen: designs from choices, planning, and the start."""

from datetime import UTC, date, datetime
from statistics import fmean

import numpy as np
import pytest

from core.campaigns.design import design_from_json, design_to_json
from core.campaigns.protocol import NOTES, PROTOCOLS, STARTING_POINTS
from core.data import OutputKey, RatedOutput, SegmentKey, Span, grouped
from core.errors import UserError
from core.formats.files import Upload
from core.mqm.schemes import GOOGLE
from core.mqm.scores import rater_penalty
from core.mqm.typology import TYPOLOGIES, from_json, to_json
from core.services.campaigns import planning, running, setup, setup_design
from core.services.campaigns.monitor import completion
from core.services.campaigns.setup import item_row, labelled_by, preview_data, preview_units, suggested_range
from core.services.projects import label_import
from core.stats.campaign.campaign_scores import CampaignScore, variances_of_pilot
from core.stats.campaign.planned_power import ASSUMED, MQM_ASSUMED, planned_detectable
from tests.core.services.campaigns import filled
from tests.core.services.campaigns.world import SYSTEMS, dataset
from tests.labels import by_output, columns
from tests.paths import DATA as BESIDE
from tests.stores import new_store

DATA = dataset(documents=4, segments=5)
OUTLINE = {key: tuple(o.system for o in of) for key, of in DATA.outputs_of().items()}
TODAY = date(2026, 3, 2)
TED = BESIDE / "mqm_ted_zhen.tsv.gz"


def test_without_choices_the_design_is_usable() -> None:
    design = setup_design.design_of({}, OUTLINE)
    assert (design.protocol, design.systems, design.segments) == (PROTOCOLS["esa"], (), ())
    assert (design.people, design.overlap, design.seconds_per_unit) == (3, 2, 60)


def test_every_protocol_has_a_note_and_makes_a_design() -> None:
    assert set(NOTES) == set(PROTOCOLS)
    for name in PROTOCOLS:
        assert setup_design.design_of({"protocol": name}, OUTLINE).protocol.name == name


@pytest.mark.parametrize("point", STARTING_POINTS, ids=lambda p: p.title)
def test_every_starting_point_makes_a_design(point) -> None:  # type: ignore[no-untyped-def]
    assert set(point.choices) <= {*setup_design.DEFAULTS, "sample_size"}
    setup_design.design_of(point.choices, OUTLINE)


def test_a_unit_of_contrastive_esa_takes_the_time_of_all_its_outputs() -> None:
    assert setup_design.seconds_of({"protocol": "cesa"}, OUTLINE) == 40 * len(SYSTEMS)
    two = {"protocol": "cesa", "some_systems": True, "systems": SYSTEMS[:2]}
    assert setup_design.seconds_of(two, OUTLINE) == 80


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"some_systems": True}, "no system is chosen"),
        ({"which": "documents"}, "no document is chosen"),
        ({"severities/esa": ()}, "no severity is chosen"),
        ({"instructions/esa": " "}, "the instructions are empty"),
        ({"anchors/esa": [{"text": "good"}]}, "an anchor has no value"),
        ({"overlap": 4}, "4 distinct raters"),
    ],
)
def test_choices_that_do_not_fit_are_named(choices: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        setup_design.design_of(choices, OUTLINE)


def test_texts_of_a_protocol_are_edited_and_sorted() -> None:
    rows = [{"value": 100, "text": "best"}, {}, {"value": 0, "text": "worst"}]
    protocol = setup_design.protocol_of({"anchors/esa": rows, "severities/esa": ("Minor", "Major")})
    assert [a.value for a in protocol.anchors] == [0, 100]
    assert protocol.severities == ("Major", "Minor")


def test_edited_categories_make_an_own_typology() -> None:
    rows = [*setup_design.category_rows(PROTOCOLS["mqm"].typology), {"path": "Tone"}]
    typology = setup_design.protocol_of({"protocol": "mqm", "categories/mqm": rows}).typology
    assert (typology.name, typology.categories[-1].path) == ("own", "Tone")


def test_a_campaign_has_the_typology_of_its_project_by_default() -> None:
    own = from_json(to_json(TYPOLOGIES["summaries"]) | {"name": "own", "title": "Ours"})
    for typology in (*TYPOLOGIES.values(), own):
        design = setup_design.design_of({"protocol": "mqm"}, OUTLINE, typology)
        assert design.protocol.typology == typology
    chosen = {"protocol": "mqm", "typology": "mqm"}
    assert setup_design.design_of(chosen, OUTLINE, own).protocol.typology == TYPOLOGIES["mqm"]
    saved = setup.setup_settings({"protocol": "mqm"})[setup.SETTING]
    assert "typology" not in saved, "a draft keeps a typology that nobody has chosen"


def test_a_free_name_and_the_names_of_annotators_are_suggested() -> None:
    first = setup_design.usual_name({}, [], TODAY)
    assert first == "ESA, 2 Mar 2026"
    assert setup_design.usual_name({}, [first.upper()], TODAY) == "ESA, 2 Mar 2026 (2)"
    assert setup_design.names_of(setup_design.usual_names(2) + "\n\n ") == ["Annotator 1", "Annotator 2"]


def test_annotators_read_a_name_that_names_no_system() -> None:
    protocol = PROTOCOLS["mqm"]
    for name in ("GPT-4o against the rest", "the rest and claude", "news by opus"):
        assert setup_design.usual_title(name, ["gpt-4o", "claude-3-opus"], protocol) == protocol.title
    assert setup_design.usual_title(" Spring 2026 ", ["gpt-4o", "A", "system 2026"], protocol) == "Spring 2026"
    choices = {"title": "Spring", "finish_by": "2026-03-09"}
    design = design_from_json(design_to_json(setup_design.design_of(choices, OUTLINE)))
    assert (design.shown_title, design.finish_by) == ("Spring", date(2026, 3, 9))
    assert setup_design.design_of({}, OUTLINE).shown_title == PROTOCOLS["esa"].title


def test_links_end_with_their_last_day() -> None:
    assert setup_design.expiry(7, TODAY) == datetime(2026, 3, 10, tzinfo=UTC)
    assert setup_design.expiry(0, TODAY) is None


def test_more_segments_and_raters_detect_smaller_differences() -> None:
    design = setup_design.design_of({}, OUTLINE)
    by_size = {(p.segments, p.raters): p.difference for p in planning.detectable_curve(OUTLINE, design, ASSUMED)}
    assert by_size[20, 1] > by_size[20, 2] > by_size[20, 3]
    assert by_size[5, 2] > by_size[20, 2]
    found = planning.detectable(OUTLINE, design, ASSUMED)
    assert found is not None
    assert found.one_pair == by_size[20, 2]


def test_a_plan_with_few_segments_names_the_smallest_possible_p() -> None:
    for n, one, adjusted, fewest in ((5, 0.0625, 0.1875, 7), (7, 2**-6, 3 * 2**-6, 7), (20, 1e-4, 3e-4, 7)):
        outline = {SegmentKey("d", str(i)): ("A", "B", "C") for i in range(n)}
        found = planning.smallest_possible_p(outline, setup_design.design_of({}, outline))
        assert found is not None
        assert (found.units, found.pairs, found.fewest, found.too_few) == (n, 3, fewest, n < fewest)
        assert (found.one, found.adjusted) == pytest.approx((one, adjusted))
    assert planning.smallest_possible_p(OUTLINE, setup_design.design_of({"protocol": "pairwise"}, OUTLINE)) is None


def test_mqm_has_a_detectable_difference_on_the_scale_of_its_score() -> None:
    design = setup_design.design_of({"protocol": "mqm"}, OUTLINE)
    found = planning.detectable(OUTLINE, design, planning.assumed(design))
    assert found is not None
    assert found.one_pair is not None
    assert found.sd == pytest.approx((2 * (8.4 + 2.5 / design.overlap)) ** 0.5)
    assert planning.detectable_preference(OUTLINE, design) is None


def test_preferences_have_a_detectable_win_share() -> None:
    design = setup_design.design_of({"protocol": "pairwise"}, OUTLINE)
    assert planning.detectable(OUTLINE, design, ASSUMED) is None
    found = planning.detectable_preference(OUTLINE, design)
    assert found is not None
    assert found.one_pair is not None
    assert 0.6 < found.one_pair < 0.9
    points = {(p.segments, p.raters): p.difference for p in planning.detectable_curve(OUTLINE, design, ASSUMED)}
    assert points[20, design.overlap] == pytest.approx(100 * (found.one_pair - 0.5))
    assert points[20, 1] > points[20, 3]


def test_a_finished_campaign_of_mqm_replaces_the_assumed_variances() -> None:
    store, campaign = filled.completed("mqm")
    design = design_from_json(campaign.design)
    assert planning.pilot(store, campaign.project_id, design) == (planning.assumed(design), "")
    store.campaigns.set_state(campaign.id, "finished")
    found = planning.pilot(store, campaign.project_id, design)
    assert found.campaign == "pilot"
    assert found.variances.scores == 48
    assert 0 < (found.variances.interaction or 0) + (found.variances.residual or 0) < 25


def test_checks_add_their_share_of_ratings() -> None:
    # 60 outputs × 2 raters × 5 % = 6 ratings of one minute
    assert planning.added(OUTLINE, setup_design.design_of({}, OUTLINE), 0.05) == (6, 0.1)


def test_examples_of_checks_come_from_chosen_outputs() -> None:
    design = setup_design.design_of({"some_systems": True, "systems": ("Bob",)}, OUTLINE)
    found = planning.example_checks(DATA, design, 3, 0)
    assert len(found) == 3
    assert {e.key.system for e in found} == {"Bob"}
    assert all(e.planted.text != e.before for e in found)


def test_right_answers_come_from_submitted_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    key = OutputKey("Ada", "doc 0", "0")
    error = Span("output", 0, 3, "Ada", "Major", "Unspecified")
    given = [RatedOutput(key, "me", (error,)), *(RatedOutput(OutputKey("Bob", "doc 0", s), "you", ()) for s in "01")]
    labels, rated = columns(given), by_output(given)
    assert list(labelled_by(labels, rated)) == ["you", "me"]
    # of each rater the last one, and what was chosen before
    monkeypatch.setattr(setup, "CHOICES", 1)
    first, second = (OutputKey("Bob", "doc 0", s) for s in "01")
    assert labelled_by(labels, rated)["you"] == {second: ()}
    assert labelled_by(labels, rated, [key, first]) == {"you": {first: (), second: ()}, "me": {key: (error,)}}
    assert suggested_range((error,)) == (65.0, 95.0)  # 100 − 4·5 ± 15
    row = item_row(key, (error,), (65.0, 95.0), " why ")
    (item,) = setup_design.tutorial_of({"tutorial": (row,)})
    assert item == (key, (error,), (65.0, 95.0), "why")
    assert setup_design.tutorial_of({"tutorial": (row,), "protocol": "pairwise"}) == ()


@pytest.mark.parametrize("name", sorted(PROTOCOLS))
def test_every_protocol_has_a_preview(name: str) -> None:
    design = setup_design.design_of({"protocol": name}, OUTLINE)
    unit = preview_units(OUTLINE, design)[0]
    data = preview_data(DATA, 1, design, unit)
    assert len(data["outputs"]) == len(unit.systems) == (design.protocol.on_screen or len(SYSTEMS))
    assert "server" not in data
    assert not any(system in str(data["outputs"][0]["id"]) for system in SYSTEMS)


def test_a_start_invites_people_and_opens_the_campaign() -> None:
    store = new_store()
    project = store.projects.create("p").id
    store.projects.add(project, DATA)
    design = setup_design.design_of({}, OUTLINE)
    shares: list[float] = []
    made = running.start(store, "boss", project, " My  campaign ", design, ["Ana", "Bo"], progress=shares.append)
    assert (made.campaign.name, made.campaign.state) == ("My campaign", "running")
    assert [link.link.rater for link in made.links] == ["Ana", "Bo"]
    assert shares == sorted(shares)
    assert design_from_json(made.campaign.design) == design
    assert completion(store, made.campaign) == (0, 120, 2)
    with pytest.raises(UserError, match="there is a campaign of this name"):
        running.start(store, "boss", project, "my campaign", design, ["Ana", "Bo"])


@pytest.mark.parametrize(
    ("names", "message"),
    [(["Ana"], "2 distinct raters"), (["Ana", "ana"], "twice"), (["Ana", " "], "a name is missing")],
)
def test_people_who_cannot_be_invited_stop_the_start(names: list[str], message: str) -> None:
    store = new_store()
    project = store.projects.create("p").id
    store.projects.add(project, DATA)
    with pytest.raises(UserError, match=message):
        running.start(store, "boss", project, "c", setup_design.design_of({}, OUTLINE), names)
    assert store.campaigns.list(project) == []


def test_links_are_safe_in_a_spreadsheet() -> None:
    assert running.links_csv([("=Ana", "http://x/t/1")]) == "name,link\n'=Ana,http://x/t/1\n"


@pytest.mark.skipif(not TED.exists(), reason="needs the MQM labels of WMT's TED talks beside the repository")
def test_the_assumed_variances_of_mqm_are_those_of_the_ted_talks() -> None:
    found = label_import.read_label_files([Upload(TED.name, TED.read_bytes())])
    scores = [
        CampaignScore(r.key.system, r.key.segment, r.rater, -rater_penalty(r.errors, GOOGLE)) for r in found.rated
    ]
    real = variances_of_pilot(scores)
    assert real[:6] == pytest.approx(MQM_ASSUMED[:6], abs=0.05)
    means = {s: fmean(x.value for x in scores if x.system == s) for s in found.dataset.systems}
    items = list(grouped((x.item, x.value - means[x.system]) for x in scores).values())
    rng, n, runs = np.random.default_rng(0), 100, 1000
    planned = planned_detectable(n, 2, variances=MQM_ASSUMED).one_pair
    assert planned is not None
    pairs = np.array([rng.choice(items[i], 2, replace=False) for i in rng.integers(len(items), size=n * runs)])
    differences = (pairs[:, 0] - pairs[:, 1] + planned).reshape(runs, n)
    t = differences.mean(1) / differences.std(1, ddof=1) * np.sqrt(n)
    assert 0.75 <= np.mean(np.abs(t) > 1.984) <= 0.85
