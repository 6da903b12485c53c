"""The next step of a project: upload, score, label, calibrate λ, evaluate."""

from __future__ import annotations

from itertools import islice
from typing import Literal, NamedTuple

from core.calibration.presets import ENOUGH_OUTPUTS
from core.data import OutputKey
from core.formatting import format_count
from core.metrics.generation.bartscore_pp import NAMES as BARTSCORE_PP
from core.metrics.registry import OPTIONS
from core.mqm.scores import counts_as_rated
from core.ports.projects import Project
from core.ports.store import Store

Step = Literal["upload", "score", "label", "calibrate", "evaluate"]


class NextStep(NamedTuple):
    """The step to take next, the steps that are done, and the reason in one sentence. `imported` says what was imported
    with files, if that is why the step *label* is done."""

    step: Step
    done: tuple[Step, ...]
    why: str
    imported: Literal["", "human scores", "labels"] = ""


def next_step(store: Store, project: Project, *, scoring: bool = False) -> NextStep:
    """Return the first step that is not done; the last one if all are. With `scoring`, scores are being computed.

    Scores and labels are enough if 100 outputs have them, or all outputs of a smaller project; so is a finished campaign with
    ratings. λ needs BARTScore++.
    """
    if not project.n_outputs:
        return NextStep("upload", (), "The project has no outputs yet.")
    done: tuple[Step, ...] = ("upload",)
    enough = min(ENOUGH_OUTPUTS, project.n_outputs)
    scored = store.scores.signatures(project.id)
    n = max((s.n for s in scored), default=0)
    labels = _labels(store, project, enough)
    if n >= enough:
        done += ("score",)
    elif not scoring:
        some = f"Only {n:,} of {format_count(project.n_outputs, 'output')} have scores."
        done += () if labels.missing else ("label",)
        return NextStep("score", done, some if n else "No metric has been computed yet.", labels.imported)
    waiting = "Scores are being computed. " * (n < enough)
    if labels.missing:
        return NextStep("label", done, waiting + labels.missing)
    done += ("label",)
    if any(s.metric.partition(OPTIONS)[0] in BARTSCORE_PP for s in scored):
        if not store.calibrations.list(project.id):
            return NextStep(
                "calibrate", done, "λ of BARTScore++ has not been fitted to the human scores yet.", labels.imported
            )
        done += ("calibrate",)
    return NextStep("evaluate", done, waiting + "See which metric agrees best with the human scores.", labels.imported)


class _Labels(NamedTuple):
    """What is missing to know how good the outputs are, "" if nothing is, and what was imported with files."""

    missing: str
    imported: Literal["", "human scores", "labels"] = ""


def _labels(store: Store, project: Project, enough: int) -> _Labels:
    """Return whether there are enough human scores or labels, and their origin."""
    if project.human_scores or project.judged:
        return _Labels("", "human scores")
    rated = [c for c in store.campaigns.list(project.id) if store.campaigns.remaining_work(c.id).ratings]
    if any(campaign.state == "finished" for campaign in rated):
        return _Labels("")
    labelled: set[OutputKey] = set()
    imported = True
    for rater in store.labels.raters(project.id):
        by_segment = store.labels.of_rater(project.id, rater)
        outputs = (
            OutputKey(system, *key)
            for key, of in by_segment.items()
            for system in of.labels.outputs
            if counts_as_rated(system, of.labels)
        )
        labelled.update(islice(outputs, enough))  # a large project has many more
        imported = imported and not any(of.made_here for of in by_segment.values())
        if len(labelled) >= enough:
            return _Labels("", "labels" if imported else "")
    if rated:
        return _Labels(f"The campaign “{rated[0].name}” is not finished yet.")
    n = len(labelled)
    some = f"{format_count(n, 'output')} labelled and submitted; {enough} are recommended."
    return _Labels(some if n else "There are no labels or human scores yet.")
