"""What λ is fitted on: metric, human scores, measure of agreement, outputs, and weight schemes."""

from __future__ import annotations

import re
from collections.abc import Sequence

import streamlit as st

from core.calibration.calibrate import CalibrationPoint
from core.data import SEVERITIES, Judgement
from core.mqm import schemes as own_schemes
from core.mqm.schemes import GOOGLE, SCHEMES, Scheme
from core.plots.calibration import MEASURE_NAMES
from core.ports.calibration import SavedBatch
from core.ports.projects import Project
from core.services.calibrate import calibration as service
from core.services.calibrate.calibration import HumanScores, LambdaFitOptions
from core.services.labels.judgements import ENDINGS, WAYS, Way, ways
from core.services.labels.protocols import typology_of
from core.services.projects.view import Column
from core.stats.correlation.correlation import Group, Measure
from pages._ui.labels_and_raters import known_labels
from pages._ui.shared import drafts, errors, page, wiring
from pages._ui.shared.markdown import escape_markdown
from pages._ui.shared.page import definition

_OWN = "errorscope_schemes"
WEIGHTS = {
    "google": "Google MQM (major 5, minor 1)",
    "marot": "Marot (as Google; source errors 0)",
    "flat": "Severity only (major 5, minor 1)",
}
SAID = "lambda-scheme-said"


def schemes(project: Project) -> dict[str, Scheme]:
    """Return weight schemes by shown name: built-in ones, then those of this session and of saved λs."""
    return {
        scheme_name(s): s for s in (*SCHEMES.values(), *own(project), *service.saved_schemes(wiring.store(), project))
    }


def scheme_name(scheme: Scheme) -> str:
    """Return the shown name, with the version of a scheme that is not built in."""
    return scheme.name if scheme.name in SCHEMES else f"{scheme.name} v{scheme.version}"


def scheme_words(name: str) -> str:
    """Return the name with the main weights of a built-in scheme."""
    return WEIGHTS.get(re.sub(r" v\d+$", "", name), name)


def own(project: Project) -> list[Scheme]:
    """Return the schemes made in this session for this project."""
    made: list[Scheme] = st.session_state.get(drafts.kept(f"{_OWN}-{project.id}"), [])
    return made


def editor(project: Project) -> None:
    """Draw an editor for a new scheme. It lives in this session, and is stored with every λ saved under it."""
    known = schemes(project)
    if said := st.session_state.pop(SAID, ""):
        st.success(said, icon=":material/check:")
    typology = typology_of(wiring.store(), project.id)
    with st.expander("Create a weight scheme"):
        base = known[st.selectbox("Start from", known, format_func=scheme_words, key=drafts.kept("lambda-scheme-base"))]
        rows = drafts.table(
            own_schemes.scheme_table(base), f"lambda-scheme-rows-{base.signature()}", num_rows="dynamic",
            column_config={
                "severity": st.column_config.SelectboxColumn("Severity", options=[*SEVERITIES, own_schemes.ANYTHING]),
                "category": st.column_config.SelectboxColumn("Category", options=own_schemes.categories(base, typology)),
                "weight": st.column_config.NumberColumn("Weight", min_value=0.0, help="0 ignores the error"),
            },
        )  # fmt: skip
        st.caption("The most specific category applies; a named severity overrides “any”.")
        left, right = st.columns(2, vertical_alignment="bottom")
        replaces_others = left.checkbox(
            "A non-translation replaces the other errors", base.non_translation is not None,
            key=drafts.kept(f"lambda-scheme-whole-{base.signature()}"),
        )  # fmt: skip
        cost = right.number_input(
            "Weight of a non-translation", 0.0, None, base.non_translation or GOOGLE.non_translation or 25.0,
            key=drafts.kept(f"lambda-scheme-cost-{base.signature()}"),
        )  # fmt: skip
        left, right = st.columns([3, 1], vertical_alignment="bottom")
        name = left.text_input(
            "Name of the scheme", placeholder="for example: terminology first", max_chars=40,
            key=drafts.kept("lambda-scheme-name"),
        )  # fmt: skip
        if right.button("Add scheme", icon=":material/add:", width="stretch", key="lambda-scheme-add"):
            with errors.boundary():
                made = own_schemes.made(
                    name, rows, non_translation=cost if replaces_others else None, known=list(known.values())
                )
                mine = own(project)
                if made not in mine:
                    st.session_state[f"{_OWN}-{project.id}"] = [*mine, made]
                st.session_state[SAID] = (
                    f"Added “{escape_markdown(scheme_name(made))}”. It is compared here and can be chosen under "
                    f"*Severity weights* above. Save a λ fitted with it to keep it."
                )
                st.rerun()


LABELS, NUMBERS = "MQM labels", "numbers"
FEWEST_SEGMENTS = 2
"""Submitted segments from which MQM labels are chosen at first, before imported scores."""

FIXED = (
    "Bradley–Terry strengths belong to systems and are held fixed. Intervals show how much the metric varies over segments, not "
    "how uncertain the strengths are."
)

MEASURES: dict[Measure, str] = {"kendall": "τ", "acc_eq": "acc_eq", "spearman": "ρ", "pearson": "r"}

GROUPS: dict[Group, str] = {
    "pooled": "all outputs pooled",
    "segment": "within each segment, averaged",
    "system": "system means",
}


def choose_metric(columns: Sequence[Column]) -> Column:
    """Return the BARTScore++ to calibrate; draws a choice only if there are several."""
    if len(columns) == 1:
        return columns[0]
    by_name = {c.name: c for c in columns}
    return by_name[
        st.selectbox("Metric", by_name, format_func=lambda n: by_name[n].label, key=drafts.kept("lambda-metric"))
    ]


def choose_human_scores(project: Project) -> HumanScores | None:
    """Return the human scores: MQM labels under a weight scheme, scores or ranks by rater, or an imported score.

    Draws the reason and returns None if there are none.
    """
    raters, judgements = known_labels.raters(project), wiring.judgements(project)
    rated = known_labels.submitted(project) if raters else None
    made = [(name, way) for name, possible in ways(judgements).items() for way in possible]
    kinds: list[tuple[str, str, Way | None]] = [(NUMBERS, name, way) for name, way in made]
    names = {name + ENDINGS[way] for name, way in made if way != "strengths"}
    kinds += [("score", name, None) for name in project.human_scores if name not in names]
    if not kinds and not rated:
        _none_yet()
        return None
    if raters:
        enough = rated is not None and rated.n_segments >= FEWEST_SEGMENTS
        kinds.insert(0 if enough else len(kinds), (LABELS, "", None))
    first, second, third = st.columns([2, 2, 1.6] if judgements else [1, 1.6, 1.3])
    key = drafts.kept(f"lambda-people-{project.id}", kinds[0], kinds.__contains__)
    kind, name, way = first.selectbox("Human scores", kinds, format_func=_kind, key=key)
    if kind == LABELS and rated is not None:
        counts = rated.n_rated()
        usual = list(counts) or raters
        key = drafts.kept(f"lambda-raters-{project.id}", usual)
        chosen = second.multiselect("Annotators", raters, usual, key=key)
        known = schemes(project)
        scheme = third.selectbox(
            "Severity weights", known, format_func=scheme_words, key=drafts.kept("lambda-scheme"), help=definition("Severity weights"),
        )  # fmt: skip
        if not chosen:
            page.info("Choose at least one annotator.")
            return None
        each = ", ".join(f"{rater} {counts.get(rater, 0)}" for rater in chosen)
        page.caption(f"Labelled outputs per annotator: {each}. Only submitted segments count.")
        return service.from_rated(rated, chosen, known[scheme])
    if way in ("wins", "strengths"):
        second.caption("Ranks: 1 is best. The score computed from them is higher for better outputs.")
        return _of_ranks(project, judgements, name, way)
    higher = second.toggle("Higher is better", value=True, key=drafts.kept(f"lambda-higher-{project.id}"))
    if way is not None:
        return service.from_judgements(judgements, name, way, (), higher_is_better=higher)
    return service.from_score(wiring.human_score(project, name).finite(), name, higher_is_better=higher)


def _none_yet() -> None:
    page.info(
        "**This project has no human scores yet.** Upload a table with a column of human scores or import labels on Projects, or "
        "annotate outputs and submit at least 2 segments."
    )
    with st.container(horizontal=True):
        if wiring.identity().manages:
            page.link("projects", "Import human scores on Projects")
        page.link("annotate", "Annotate outputs")


def _kind(kind: tuple[str, str, Way | None]) -> str:
    return f"{kind[1]}: {WAYS[kind[2]]}" if kind[2] else kind[1] or kind[0]


def _of_ranks(project: Project, judgements: Sequence[Judgement], name: str, way: Way) -> HumanScores | None:
    with errors.boundary():
        return service.from_judgements(judgements, name, way, wiring.index(project).keys())
    return None


def choose_measure(human_scores: HumanScores | None = None) -> LambdaFitOptions:
    """Return the measure of agreement and the pairs it compares: system means if only systems have scores."""
    groups: list[Group] = ["system"] if human_scores is not None and human_scores.of_systems else list(GROUPS)
    left, right = st.columns(2)
    measure = left.selectbox(
        "Statistic",
        MEASURES,
        format_func=lambda m: MEASURE_NAMES[m],
        key=drafts.kept("lambda-measure"),
        help="How agreement with the human scores is measured. "
        + " ".join(f"**{n}**: {definition(n)}" for n in MEASURE_NAMES.values()),
    )
    group = right.selectbox("Pairs of outputs", groups, format_func=GROUPS.__getitem__, key=drafts.kept("lambda-group"))
    return LambdaFitOptions(measure, group)


def choose_calibration_set(project: Project, data: Sequence[CalibrationPoint]) -> SavedBatch | None:
    """Return the calibration set to fit on, or None for all outputs; draws a choice only if a set has labels."""
    keys = {p.key for p in data}
    n_labelled = {
        b.name: n for b in wiring.store().batches.list(project.id) if (n := sum(c.key in keys for c in b.outputs)) > 1
    }
    if not n_labelled:
        return None

    def words(name: str | None) -> str:
        return f"Calibration set “{name}”, {n_labelled[name]} outputs" if name else f"All labelled outputs, {len(keys)}"

    name = st.selectbox(
        "Outputs", [None, *n_labelled], format_func=words, key=drafts.kept(f"lambda-batch-{project.id}"),
        help="Outputs of a calibration set were drawn with known probabilities. A fit on the set weighs each output by "
        "1/probability, so that λ holds for all outputs the set was drawn from.",
    )  # fmt: skip
    return next((b for b in wiring.store().batches.list(project.id) if b.name == name), None)
