"""The parts of the Help page: workflow, documentation, glossary, keys, and facts for a problem report; the installation for Models."""

from __future__ import annotations

import json
import platform
import posixpath
import re
import tomllib
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import streamlit as st

from core.data import SEVERITIES
from core.metrics.readiness import ConfiguredModel, configured_models
from core.settings import Settings, load_settings
from pages._ui.shared import page, tables
from pages._ui.shared.markdown import doc_link
from pages._ui.shared.page import terms

ROOT = Path(__file__).resolve().parents[3]
INDEX = ROOT / "docs" / "README.md"
_LINK = re.compile(r"\[([^]]+)\]\(([^)]+)\)")


def draw_documentation() -> None:
    """Draw the table of docs/README.md."""
    table = INDEX.read_text(encoding="utf-8").split("\n\n")[1]
    st.markdown(_LINK.sub(lambda link: doc_link(posixpath.normpath(f"docs/{link[2]}"), link[1]), table))
    st.caption("The pages open in a new tab. They describe this version and need no connection to the internet.")


TEXTS = Path(__file__).parents[1] / "components" / "span_annotator" / "texts.js"
COMPARE = (("← · →", "previous · next segment"), ("/", "search"))
REFINEMENT = (
    ("← · →", "previous · next step"),
    ("↑ · ↓", "previous · next token (word part)"),
    ("Enter", "alternatives of the token"),
)
PREFERENCE = frozenset({"preference", "ties"})
"""Keys of the editor that mean something else where error spans are marked."""


def _table(name: str) -> Any:
    code = TEXTS.read_text(encoding="utf-8")
    (table,) = re.findall(rf"^export const {name} = (.*?^[\]}}]);", code, re.MULTILINE | re.DOTALL)
    return json.loads(table)


@cache
def annotate_keys(*, preference: bool = False) -> tuple[tuple[str, str], ...]:
    """Return the keys of the editor with what they do: those of a preference between outputs, or all others."""
    texts = _table("EDITOR_TEXTS")
    severities = " · ".join(SEVERITIES)
    return tuple(
        (key, texts[text].replace("{severities}", severities))
        for key, text, when in _table("KEYS")
        if (when in PREFERENCE) == preference
    )


def draw_keys() -> None:
    """Draw the keys by page."""
    pages = {
        "Annotate": annotate_keys(),
        "Annotate, preference between two outputs": annotate_keys(preference=True),
        "Compare": COMPARE,
        "Compare, refinement step by step": REFINEMENT,
    }
    for title, keys in pages.items():
        st.subheader(title, anchor=False)
        tables.text_table([{"key": key, "what it does": what} for key, what in keys], tall=len(keys))


PACKAGES = ("streamlit", "sqlalchemy", "sacrebleu", "rouge-score", "torch", "transformers")


def hidden(url: str) -> str:
    """Return a database address without its passwords."""
    shown = re.sub(r"^([^:/]+://[^:/@]*):.*@", r"\1:***@", url)
    return re.sub(r"(?i)([?&][^=&]*(?:pass|pwd|secret|token|key)[^=&]*=)[^&]*", r"\1***", shown)


def own_version() -> str:
    """Return the version in pyproject.toml."""
    try:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    except (OSError, ValueError, KeyError):
        return "unknown"
    return str(project["version"])


def installed(package: str) -> str:
    """Return the version of a package, or "not installed"."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def draw_installation(chosen: Settings) -> None:
    """Draw the settings and the versions."""
    rows = [
        ("Database", hidden(chosen.database), "ERRORSCOPE_DB"),
        ("Folder for database and logs", str(chosen.home), "ERRORSCOPE_HOME"),
        ("Device", chosen.device, "ERRORSCOPE_DEVICE"),
        ("Number format of the seq2seq model", chosen.dtype, "ERRORSCOPE_DTYPE"),
        ("Languages of a multilingual seq2seq model", chosen.languages, "ERRORSCOPE_LANGUAGES"),
        ("Prompt lists", str(chosen.prompts or "mt (built in)"), "ERRORSCOPE_PROMPTS"),
        ("Scoring worker", chosen.worker, "ERRORSCOPE_WORKER"),
        ("Errorscope", own_version(), ""),
        ("Python", platform.python_version(), ""),
        *((name, installed(name), "") for name in PACKAGES),
    ]
    tables.text_table(
        [{"setting": w, "value": v or "not set", "environment variable": by} for w, v, by in rows], tall=len(rows)
    )


def facts(chosen: Settings, models: list[ConfiguredModel], browser: str) -> str:
    """Return the versions, one per line."""
    database = chosen.database.partition(":")[0]
    lines = {"Errorscope": own_version(), "Python": platform.python_version(), "System": platform.platform()}
    lines |= {name: installed(name) for name in PACKAGES}
    lines |= {f"Model ({m.kind.name})": f"{m.checkpoint.name} {m.checkpoint.revision}" for m in models if m.checkpoint}
    lines |= {"Device": chosen.device, "Database": database, "Browser": browser or "unknown"}
    return "\n".join(f"{name}: {value}" for name, value in lines.items())


def draw_report() -> None:
    """Draw what a report needs, and the versions to copy."""
    st.markdown(
        "Describe three things: what you did, what you expected, and what happened instead. Add the whole error message or a "
        "screenshot, and these versions. Send the report to whoever runs this installation."
    )
    st.code(
        facts(load_settings(), configured_models(), st.context.headers.get("User-Agent", "")),
        language=None,
        wrap_lines=True,
    )
    st.caption("Copy with the button at the top right of the box. Nothing is sent automatically.")


def draw_term_search() -> None:
    """Draw the terms that match the search."""
    words = st.text_input("Search", key="help-words", placeholder="Search terms", icon=":material/search:")
    matches = matching(words)
    if not matches:
        st.info("No term matches all of these words.", icon=":material/search_off:")
    for term, text in matches.items():
        st.markdown(f"**{term}**  \n{text}")


def matching(words: str) -> dict[str, str]:
    """Return the terms that contain every word, in their name or definition; those with all of them in the name first."""
    search_words = words.casefold().split()
    matches = {t: text for t, text in terms().items() if all(word in f"{t} {text}".casefold() for word in search_words)}
    return dict(sorted(matches.items(), key=lambda item: not all(word in item[0].casefold() for word in search_words)))


class WorkflowStep(NamedTuple):
    title: str
    text: str
    links: tuple[tuple[str, str], ...]  # page, label


STEPS = (
    WorkflowStep(
        "Upload",
        "Upload the outputs of your systems, with sources and references. Labels and scores from other tools can be imported too.",
        (("projects", "Projects"),),
    ),
    WorkflowStep(
        "Score",
        "Choose metrics and compute their scores. Scoring runs in the background, and each score is computed only once.",
        (("compare", "Compare"), ("models", "Models: what can run here")),
    ),
    WorkflowStep(
        "Compare",
        "Read the outputs side by side: word differences, scores, and the sentence that BARTScore++ refines from each output.",
        (("compare", "Compare"),),
    ),
    WorkflowStep(
        "Annotate",
        "Mark the errors that you see, by mouse or keyboard. The names of the systems are hidden. At least 100 outputs with two annotators are recommended.",
        (("annotate", "Annotate"), ("labels_and_raters", "Labels and raters")),
    ),
    WorkflowStep(
        "Calibrate",
        "Fit λ, the weight of explicit errors in BARTScore++, to the human scores.",
        (("calibrate", "Calibrate λ"),),
    ),
    WorkflowStep(
        "Evaluate",
        "Measure how well each metric agrees with the human scores, and which errors it misses.",
        (("meta_evaluation", "Meta-evaluation"), ("robustness", "Robustness")),
    ),
)


def draw_workflow() -> None:
    """Draw the steps, three side by side."""
    for number in page.cards([(f"{n}. {step.title}", step.text) for n, step in enumerate(STEPS, 1)]):
        for target, label in STEPS[number].links:
            page.link(target, label)
    st.markdown(
        "*Projects* names the next step of the open project. The sample project is scored and labelled already."
    )
