"""The Help page."""

import re

from core.metrics.readiness import configured_models
from core.ports.store import Store
from core.settings import load_settings
from pages._ui.help.help_parts import annotate_keys, facts, matching
from tests.pages.test_shell import run, store
from tests.paths import ROOT

__all__ = ["store"]


def test_every_part_of_the_page_is_drawn_and_searched(store: Store) -> None:
    at = run("help")
    assert not at.exception
    assert [tab.label.rpartition(": ")[2] for tab in at.tabs] == [
        "Workflow", "Documentation", "Keys", "Glossary", "Report a problem",
    ]  # fmt: skip
    linked = re.findall(r"\]\(documentation/([^)#]+)", at.tabs[1].markdown[0].value)
    assert len(linked) > 25
    assert [path for path in linked if not (ROOT / path).exists()] == []
    steps = [h.value for h in at.tabs[0].subheader]
    assert steps == ["1. Upload", "2. Score", "3. Compare", "4. Annotate", "5. Calibrate", "6. Evaluate"]
    assert "Errorscope: " in at.code[0].value
    at.text_input(key="help-words").set_value("tie calibration").run()
    shown = [m.value for m in at.tabs[3].markdown]
    assert shown[0].startswith("**Tie calibration**")
    assert len(shown) < 5
    at.text_input(key="help-words").set_value("xylophone").run()
    assert at.tabs[3].info[0].value == "No term matches all of these words."


def test_terms_keys_and_reports_are_in_words() -> None:
    assert list(matching("Segment"))[:2] == ["Segment", "Submitted segment"]
    assert "System level" not in matching("segment")
    keys = dict(annotate_keys())
    assert keys["Enter"].startswith("submit")
    assert len(keys) > 10
    assert not any(re.search(r"[\[\]]", text) for text in keys.values())

    chosen = load_settings(
        {"ERRORSCOPE_DB": "postgresql+psycopg://me:secret@db.example/labels", "ERRORSCOPE_HOME": "/home/me"}
    )
    text = facts(chosen, configured_models(), "Firefox")
    assert "Database: postgresql+psycopg\n" in text
    assert text.endswith("Browser: Firefox")
    assert re.search(r"^Model \(seq2seq\): \S+ [0-9a-f]+$", text, re.MULTILINE)
    assert "secret" not in text
    assert "/home/me" not in text
