"""MAUVE (Pillutla et al. 2021): how near the distribution of a system's texts is to that of texts people wrote.

A value belongs to a set of outputs; no segment has one. Computed by the package mauve-text (GPL-3.0), which is not among
the requirements, from the vectors of the encoder instead of its own GPT-2: values of two encoders cannot be compared.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from core.data import Value
from core.errors import UserError
from core.metrics.base import MetricSpec
from core.metrics.encoding import model_facts
from core.signature import package, signature

Vectors = npt.NDArray[np.float32]
PACKAGE = "mauve-text"
FEWEST = 20  # texts a side: fewer do not fill the two smallest clusters
ADVISED = 1000
"""Texts a side below which the package's authors warn of bias and noise."""


SPEC = MetricSpec(
    name="mauve",
    label="MAUVE",
    version=1,
    paper="Pillutla et al. 2021",
    help="How near all outputs of a system are to all references, as distributions; one value a system, none a segment: "
    "python -m core score FILE --set mauve.",
    range=(0, 1),
    higher_is_better=True,
    needs=frozenset({"reference", "encoder"}),
    package=PACKAGE,
)


class Settings(NamedTuple):
    """`buckets`: clusters of k-means, by default a tenth of the smaller side; `scaling`: c of the paper, which stretches
    values between 0 and 1 and changes no order; `seed` of the clustering."""

    buckets: int | None = None
    scaling: float = 5.0
    seed: int = 25


DEFAULT = Settings()


def sign(chosen: Settings, texts: str) -> str:
    """The signature of a value; `texts` names the sets it was computed from. Raises UserError without package or encoder."""
    return signature(
        "mauve",
        {
            "v": SPEC.version,
            "buckets": "auto" if chosen.buckets is None else chosen.buckets,
            "scaling": float(chosen.scaling),
            "seed": chosen.seed,
            "texts": texts,
            **model_facts(),
            PACKAGE: _version(),
            "faiss-cpu": package("faiss-cpu"),
            "scikit-learn": package("scikit-learn"),
        },
    )


def mauve(outputs: Vectors, references: Vectors, chosen: Settings = DEFAULT) -> Value:
    """The value for vectors (n, d) of a system's texts and (m, d) of people's: from 0 to 1, higher is nearer.

    Undefined for fewer than `FEWEST` texts on a side; below `ADVISED` the value carries a caution. Parts: the frontier
    integral (lower is nearer) of Pillutla et al. 2023, and the number of clusters. Raises UserError without the package.
    """
    _version()
    fewer = min(len(outputs), len(references))
    if fewer < FEWEST:
        return Value(None, "undefined", f"a set of {fewer} texts is too small: MAUVE needs {FEWEST} on either side")
    from mauve import compute_mauve

    buckets: Any = "auto" if chosen.buckets is None else chosen.buckets
    found = compute_mauve(
        p_features=references,
        q_features=outputs,
        num_buckets=buckets,
        mauve_scaling_factor=chosen.scaling,
        seed=chosen.seed,
    )
    parts = {"frontier_integral": float(found.frontier_integral), "buckets": float(found.num_buckets)}
    caution = f"from {fewer} texts: below {ADVISED} the value is noisy, and comparable only for sets of one size"
    return Value(_area(found.divergence_curve), reason=caution if fewer < ADVISED else "", parts=parts)


def _area(curve: npt.NDArray[np.float64]) -> float:
    """The area under the divergence curve (points, 2), from (1, 0) to (0, 1).

    The package sorts the points by one coordinate first, and equal ones fall in any order: two equal histograms, whose curve
    is a corner, may then get 0.75 instead of 1.
    """
    x, y = curve.T
    return float(-np.trapezoid(y, x))


def _version() -> str:
    try:
        return package(PACKAGE)
    except PackageNotFoundError as error:
        raise UserError(
            "MAUVE needs a package that is not installed", where=PACKAGE, hint=f"pip install {PACKAGE}"
        ) from error
