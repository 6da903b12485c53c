from core.mqm.typology import MQM, TYPOLOGIES, to_json
from core.services.labels.typologies import choose, of_project
from tests.stores import new_store


def test_a_project_has_mqm_until_another_typology_is_chosen() -> None:
    store = new_store()
    project, other = store.projects.create("a").id, store.projects.create("b").id
    assert of_project(store, project) == MQM
    summaries = TYPOLOGIES["summaries"]
    rows = to_json(summaries)
    assert choose(store, project, summaries, rows["severities"], rows["categories"]) == summaries
    assert of_project(store, project) == summaries
    assert of_project(store, other) == MQM


def test_an_edited_typology_belongs_to_its_project() -> None:
    store = new_store()
    project = store.projects.create("a").id
    rows = to_json(MQM)
    own = choose(store, project, MQM, rows["severities"], [*rows["categories"], {"path": "Facts/Dose"}])
    assert (own.name, own.title, len(own.categories)) == ("own", "Translation (MQM), edited", len(MQM.categories) + 1)
    assert of_project(store, project) == own
    again = choose(store, project, own, rows["severities"], rows["categories"][:3])
    assert (again.title, len(of_project(store, project).categories)) == (own.title, 3)
