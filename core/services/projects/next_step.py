"""The next step of a project: upload, score, label, calibrate λ, evaluate."""

from __future__ import annotations

from typing import Literal, NamedTuple

from core.calibration.calibrate import ENOUGH_OUTPUTS
from core.data import OutputKey
from core.formatting import format_count
from core.metrics.generation.bartscore_pp import NAMES as BARTSCORE_PP
from core.metrics.registry import OPTIONS
from core.mqm.log import fold
from core.mqm.scores import rated_outputs
from core.ports.projects import Project
from core.ports.store import Store

Step = Literal["upload", "score", "label", "calibrate", "evaluate"]


class NextStep(NamedTuple):
    """The step to take next, the steps that are done, and the reason in one sentence."""

    step: Step
    done: tuple[Step, ...]
    why: str


def next_step(store: Store, project: Project, *, scoring: bool = False) -> NextStep:
    """Return the first step that is not done; the last one if all are. With `scoring`, scores are being computed.

    Scores and labels are enough if 100 outputs have them, or all outputs of a smaller project. λ needs BARTScore++.
    """
    if not project.n_outputs:
        return NextStep("upload", (), "The project has no outputs yet.")
    done: tuple[Step, ...] = ("upload",)
    enough = min(ENOUGH_OUTPUTS, project.n_outputs)
    scored = store.scores.signatures(project.id)
    n = max((s.n for s in scored), default=0)
    if n >= enough:
        done += ("score",)
    elif not scoring:
        some = f"Only {n:,} of {format_count(project.n_outputs, 'output')} have scores."
        return NextStep("score", done, some if n else "No metric has been computed yet.")
    if missing := _missing_labels(store, project, enough):
        return NextStep("label", done, "Scores are being computed. " * (n < enough) + missing)
    done += ("label",)
    if any(s.metric.partition(OPTIONS)[0] in BARTSCORE_PP for s in scored):
        if not store.calibrations.list(project.id):
            return NextStep("calibrate", done, "λ of BARTScore++ has not been fitted to the human scores yet.")
        done += ("calibrate",)
    return NextStep("evaluate", done, "See which metric agrees best with the human scores.")


def _missing_labels(store: Store, project: Project, enough: int) -> str:
    """Return what is missing to know how good the outputs are; "" if there are enough human scores or labels."""
    if project.human_scores or project.judged:
        return ""
    labelled: set[OutputKey] = set()
    for rater in store.labels.raters(project.id):
        labelled |= {rated.key for rated in rated_outputs(fold(store.labels.events(project.id, rater=rater)))}
        if len(labelled) >= enough:  # a large project has many more: reading them all takes half a second
            return ""
    n = len(labelled)
    some = f"{format_count(n, 'output')} labelled and submitted; {enough} are recommended."
    return some if n else "There are no labels or human scores yet."
