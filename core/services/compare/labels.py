"""Human labels on Compare: MQM scores as a column of the view, and the error spans of single outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from core.columns import ScoreColumn
from core.data import RatedOutput, Span
from core.mqm.schemes import GOOGLE
from core.services.compare.inspector import Marks
from core.services.labels.agreement import stretches
from core.services.projects.view import LABELS, Column, View

MQM = "labels:mqm"
"""Name of the column of MQM scores; no metric or human score has a colon after this word."""


def with_mqm(view: View, marks: Marks) -> View:
    """Return the view with the labels and a first column of MQM scores (Google's weights, mean over annotators).

    Without labels it stays as it is.
    """
    values = ScoreColumn.of_numbers(view.index, marks.by_output.scores_in(view.index, GOOGLE))
    if not values.n:
        return view
    found = values.numbers[values.has_result]
    signature = f"{GOOGLE.signature()}|raters:{len(marks.by_output.raters)}"
    digits = 1 if np.allclose(found, found.round(1)) else 2
    note = (
        "MQM score: minus the penalty of the errors marked, mean over annotators; 0 is best. Severity weights: always Google MQM "
        "(major 5, minor 1, minor punctuation 0.1, non-translation 25). Weights chosen on other pages do not change it."
    )
    column = Column(MQM, "mqm", f"MQM ({LABELS})", signature, True, help=note, digits=digits, labelled=True)
    return replace(
        view,
        columns=(column, *view.columns),
        read=lambda name: values if name == MQM else view.read(name),
        rated=marks.by_output,
    )


def card_labels(text: str, rated: Sequence[RatedOutput]) -> dict[str, Any]:
    """Return the labels of one output as plain JSON values.

    `pieces` are [text, worst severity, [error, …]] of the output, `errors` the errors of all annotators, numbered from 1 in
    the order of the text, those in the source last.
    """
    errors = sorted(
        ((error, r.rater) for r in rated for error in r.errors),
        key=lambda e: (e[0].side == "source", e[0].start, e[0].end),
    )
    return {
        "pieces": [list(piece) for piece in stretches(text, [error for error, _ in errors])],
        "errors": [_error(*error) for error in errors],
        "raters": len({r.rater for r in rated}),
    }


def _error(error: Span, rater: str) -> dict[str, str]:
    names = ("severity", "category", "quote", "note", "side")
    return {name: str(getattr(error, name)) for name in names} | {"rater": rater}
