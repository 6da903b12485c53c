"""What λ is fitted on: the metric, the human scores, the measure of agreement and the outputs."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.calibration.calibrate import CalibrationPoint
from core.data import Judgement
from core.plots.calibration import MEASURE_NAMES
from core.ports.batches import SavedBatch
from core.ports.projects import Project
from core.services.calibrate import calibration as service
from core.services.calibrate.calibration import HumanScores, LambdaFitOptions
from core.services.labels import judgements as numbers
from core.services.labels.judgements import Way
from core.services.projects.view import Column
from core.stats.correlation.correlation import Group, Measure
from pages._ui.calibrate.weight_schemes import scheme_words, schemes
from pages._ui.labels_and_raters import known_labels
from pages._ui.shared import drafts, errors, page, wiring
from pages._ui.shared.glossary import definition

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
    raters, given = known_labels.raters(project), wiring.judgements(project)
    rated = known_labels.submitted(project) if raters else None
    made = [(name, way) for name, possible in numbers.ways(given).items() for way in possible]
    kinds: list[tuple[str, str, Way | None]] = [(NUMBERS, name, way) for name, way in made]
    names = {name + numbers.ENDINGS[way] for name, way in made if way != "strengths"}
    kinds += [("score", name, None) for name in project.human_scores if name not in names]
    if not kinds and not rated:
        _none_yet()
        return None
    if raters:
        enough = rated is not None and rated.n_segments >= FEWEST_SEGMENTS
        kinds.insert(0 if enough else len(kinds), (LABELS, "", None))
    first, second, third = st.columns([2, 2, 1.6] if given else [1, 1.6, 1.3])
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
        return _of_ranks(project, given, name, way)
    higher = second.toggle("Higher is better", value=True, key=drafts.kept(f"lambda-higher-{project.id}"))
    if way is not None:
        return service.from_judgements(given, name, way, (), higher_is_better=higher)
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
    return f"{kind[1]}: {numbers.WAYS[kind[2]]}" if kind[2] else kind[1] or kind[0]


def _of_ranks(project: Project, given: Sequence[Judgement], name: str, way: Way) -> HumanScores | None:
    with errors.boundary():
        return service.from_judgements(given, name, way, wiring.index(project).keys())
    return None


def choose_measure(people: HumanScores | None = None) -> LambdaFitOptions:
    """Return the measure of agreement and the pairs it compares: system means if only systems have scores."""
    groups: list[Group] = ["system"] if people is not None and people.of_systems else list(GROUPS)
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
    there = {
        b.name: n for b in wiring.store().batches.list(project.id) if (n := sum(c.key in keys for c in b.outputs)) > 1
    }
    if not there:
        return None

    def words(name: str | None) -> str:
        return f"Calibration set “{name}”, {there[name]} outputs" if name else f"All labelled outputs, {len(keys)}"

    name = st.selectbox(
        "Outputs", [None, *there], format_func=words, key=drafts.kept(f"lambda-batch-{project.id}"),
        help="Outputs of a calibration set were drawn with known probabilities. A fit on the set weighs each output by "
        "1/probability, so that λ holds for all outputs the set was drawn from.",
    )  # fmt: skip
    return next((b for b in wiring.store().batches.list(project.id) if b.name == name), None)
