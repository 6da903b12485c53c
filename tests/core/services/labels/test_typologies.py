from core.mqm.typology import MQM, TYPOLOGIES, to_json
from core.services.labels.protocols import typology_of, use_typology
from tests.stores import new_store


def test_a_project_has_mqm_until_another_typology_is_chosen() -> None:
    store = new_store()
    project, other = store.projects.create("a").id, store.projects.create("b").id
    assert typology_of(store, project) == MQM
    summaries = TYPOLOGIES["summaries"]
    rows = to_json(summaries)
    assert use_typology(store, project, summaries, rows["severities"], rows["categories"]) == summaries
    assert typology_of(store, project) == summaries
    assert typology_of(store, other) == MQM


def test_an_edited_typology_belongs_to_its_project() -> None:
    store = new_store()
    project = store.projects.create("a").id
    rows = to_json(MQM)
    own = use_typology(store, project, MQM, rows["severities"], [*rows["categories"], {"path": "Facts/Dose"}])
    assert (own.name, own.title, len(own.categories)) == ("own", "Translation (MQM), edited", len(MQM.categories) + 1)
    assert typology_of(store, project) == own
    again = use_typology(store, project, own, rows["severities"], rows["categories"][:3])
    assert (again.title, len(typology_of(store, project).categories)) == (own.title, 3)
