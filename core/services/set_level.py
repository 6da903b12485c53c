"""Metrics that score a set of outputs at once, and no segment: one value a system."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from core.data import Dataset, Value
from core.errors import UserError
from core.metrics import mauve
from core.metrics.base import Cancelled, Progress, no_progress
from core.metrics.encoding import encoder

METRICS: tuple[str, ...] = ("mauve",)


class SetScore(NamedTuple):
    """What one system got, and the signature that names computation and texts."""

    system: str
    value: Value
    signature: str


def set_scores(
    dataset: Dataset, chosen: mauve.Settings = mauve.DEFAULT, progress: Progress = no_progress
) -> list[SetScore]:
    """MAUVE of every system, in the order of the dataset: its outputs against the references of the same segments.

    Outputs and references without text are left out, and so are outputs of segments without a reference. Every distinct
    text is encoded once. `progress` is told the systems done. Raises UserError without the package or an encoder, and for a
    dataset without references; Cancelled.
    """
    sides = {system: _sides(dataset, system) for system in dataset.systems}
    if not any(references for _, references in sides.values()):
        raise UserError(
            "MAUVE compares outputs with references, and there are none", hint="Add references, or use an output as one"
        )
    signatures = {
        system: mauve.sign(chosen, f"{len(outputs)}+{len(references)}-{_digest(outputs, references)}")
        for system, (outputs, references) in sides.items()
    }
    done = 0

    def go_on(*_: int) -> None:
        if not progress(done):
            raise Cancelled

    go_on()
    texts = list(dict.fromkeys(text for side in sides.values() for given in side for text in given))
    vectors = encoder().embed(texts, go_on).vectors
    at = {text: i for i, text in enumerate(texts)}
    out = []
    for system, (outputs, references) in sides.items():
        go_on()
        value = mauve.mauve(vectors[[at[t] for t in outputs]], vectors[[at[t] for t in references]], chosen)
        out.append(SetScore(system, value, signatures[system]))
        done += 1
    return out


def _sides(dataset: Dataset, system: str) -> tuple[list[str], list[str]]:
    segments = dataset.segment_of()
    pairs = [(o.text, segments[o.key.segment].references) for o in dataset.outputs if o.system == system]
    outputs = [text for text, references in pairs if text.strip() and any(r.strip() for r in references)]
    return outputs, [r for _, references in pairs for r in references if r.strip()]


def _digest(*sides: Sequence[str]) -> str:
    lines = "\1".join("\0".join(sorted(texts)) for texts in sides)
    return hashlib.sha256(lines.encode("utf-8", "surrogatepass")).hexdigest()[:8]
