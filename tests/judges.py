"""A project whose outputs were labelled by three annotators and judged, with values in the form in which judges store them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from core.data import Dataset, Judgement, Output, RatedOutput, Segment, Span, Value
from core.spans.layers import LayerSpan, spans_to_json

DOCUMENTS, PER_DOCUMENT, SYSTEMS = 30, 2, ("A", "B")
RATERS = ("Ana", "Ben", "Cho")
SIGNATURE = "judge-mqm|model:tiny|v:1"


def texts() -> Dataset:
    places = [(f"d{d}", str(s)) for d in range(DOCUMENTS) for s in range(PER_DOCUMENT)]
    every = [(at, system) for at in places for system in SYSTEMS]
    outputs = [
        Output(system, *at, "word " * (4 + 9 * (i * i % 7)) + f"{system} {i}") for i, (at, system) in enumerate(every)
    ]
    return Dataset(tuple(Segment(*at, f"source {at}") for at in places), tuple(outputs))


def severities(seed: int = 0, right: float = 0.9) -> dict[str, np.ndarray]:
    """The worst severity by each annotator, and by a "judge" that is as good as they are: 0 none, 1 minor, 2 major."""
    rng = np.random.default_rng(seed)
    n = DOCUMENTS * PER_DOCUMENT * len(SYSTEMS)
    truth = rng.choice(3, n, p=[0.5, 0.2, 0.3])
    return {who: np.where(rng.random(n) < right, truth, rng.integers(0, 3, n)) for who in (*RATERS, "judge")}


def error_spans(worst: int, text: str) -> tuple[Span, ...]:
    return (Span("output", 0, 4, text[:4], ("Minor", "Major")[worst - 1], "Accuracy"),) if worst else ()


def rated_outputs(data: Dataset, of: dict[str, np.ndarray]) -> list[RatedOutput]:
    return [
        RatedOutput(o.key, who, error_spans(int(worst), o.text))
        for who in RATERS
        for o, worst in zip(data.outputs, of[who], strict=True)
    ]


def judgements(data: Dataset, of: dict[str, np.ndarray], name: str = "ESA") -> list[Judgement]:
    rng = np.random.default_rng(9)
    return [
        Judgement(o.key, who, name, float(95 - 30 * worst + rng.integers(-4, 5)))
        for who in RATERS
        for o, worst in zip(data.outputs, of[who], strict=True)
    ]


def reply(state: str = "ok", **fields: Any) -> dict[str, Any]:
    return {"state": state, "text": "…", "tokens_in": 200, "tokens_out": 40, "seconds": 0.5, "repeat": 0, **fields}


def answer(worst: int, text: str, score: float | None = None, repeats: Sequence[float] = ()) -> Value:
    """A value of a judge with error spans, by default its MQM score."""
    spans = spans_to_json(LayerSpan(span) for span in error_spans(worst, text))
    value = float((0, -1, -5)[worst]) if score is None else score
    calls = [reply(repeat=i) for i, _ in enumerate(repeats or (value,))]
    detail = {
        "state": "ok" if worst else "no_error",
        "spans": spans,
        "unplaced": [],
        "replies": calls,
        "values": list(repeats),
    }
    parts = {
        "calls": float(len(calls)),
        "tokens_in": 200.0 * len(calls),
        "tokens_out": 40.0 * len(calls),
        "seconds": 0.5,
    }
    return Value(value, parts=parts, detail=detail)


def no_answer(state: str) -> Value:
    detail = {"state": state, "replies": [reply(state)]}
    return Value(None, "undefined", f"the reply was {state}", {"calls": 3.0}, detail)
