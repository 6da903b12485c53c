"""Outputs of a system as references, on the Projects page."""

from dataclasses import replace

from streamlit.testing.v1 import AppTest

from core.ports.store import Store
from tests.fakes import small_dataset
from tests.pages.test_shell import run, store

__all__ = ["store"]


def panel(at: AppTest) -> dict[str, str]:
    """What the scoring panel says is scored, by metric."""
    table = next(d.value for d in at.dataframe if "metric" in d.value and "scored" in d.value)
    return dict(zip(table["metric"], table["scored"], strict=True))


def test_the_outputs_of_a_system_become_references(store: Store) -> None:
    project = store.projects.create("Talks")
    full = small_dataset()
    data = replace(full, segments=tuple(replace(s, references=()) for s in full.segments))
    store.projects.add(project.id, data)
    system = data.systems[0]
    given = {o.key.segment: o.text for o in data.outputs if o.system == system and o.text.strip()}
    at = run("projects", project=str(project.id))
    assert panel(run("compare", project=str(project.id)))["chrF"] == "–"
    next(s for s in at.selectbox if s.label == "System").select(system)
    next(b for b in at.button if b.label == "Add as references").click().run()
    assert not at.exception
    for segment in store.projects.dataset(project.id).segments:
        assert given.get(segment.key, "") in (*segment.references, "")
    assert panel(run("compare", project=str(project.id)))["chrF"] == f"0 / {len(data.outputs)}"
