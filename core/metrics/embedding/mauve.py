"""MAUVE (Pillutla et al. 2021): similarity of the distributions of a system's outputs and of human texts.

System-level only. Computed by the package mauve-text (GPL-3.0), which is not among the requirements, on vectors of the
configured encoder instead of GPT-2. Values of different encoders cannot be compared.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError

import numpy as np
import numpy.typing as npt

from core.data import Value
from core.errors import PROGRAM, UserError
from core.metrics.base import MetricSpec
from core.models import configs
from core.signature import package

Vectors = npt.NDArray[np.float32]
PACKAGE = "mauve-text"
FEWEST = 20  # texts per side: fewer do not fill two clusters
ADVISED = 1000
"""Texts per side below which the authors warn of bias and noise."""


SPEC = MetricSpec(
    name="mauve",
    label="MAUVE",
    paper="Pillutla et al. 2021",
    help="Compares all outputs of a system with all references as distributions, and so notices repetitive or generic text. "
    f"One value per system: {PROGRAM} score FILE --set mauve.",
    range=(0, 1),
    needs=frozenset({"reference", "encoder"}),
    package=PACKAGE,
)


BUCKETS, SCALING, SEED = "auto", 5.0, 25
"""Number of k-means clusters (a tenth of the smaller side), c in the paper, and the seed of the clustering, as in the package."""


def sign(texts: str) -> str:
    """Return the signature of a value; `texts` identifies the two sets. Raises UserError without package or encoder."""
    return SPEC.signed(
        {
            "buckets": BUCKETS,
            "scaling": SCALING,
            "seed": SEED,
            "texts": texts,
            **configs.configured_facts("encoder"),
            PACKAGE: _version(),
            "faiss-cpu": package("faiss-cpu"),
            "scikit-learn": package("scikit-learn"),
        },
    )


def mauve(outputs: Vectors, references: Vectors) -> Value:
    """Return MAUVE in [0, 1] (higher is better) for vectors of outputs (n, d) and references (m, d).

    Undefined for fewer than `FEWEST` texts per side; below `ADVISED` the value carries a warning. Parts: the frontier
    integral (lower is better, Pillutla et al. 2023) and the number of clusters. Raises UserError without the package.
    """
    _version()
    fewer = min(len(outputs), len(references))
    if fewer < FEWEST:
        return Value(None, "undefined", f"too few texts: {fewer}; MAUVE needs {FEWEST} outputs and {FEWEST} references")
    from mauve import compute_mauve

    outcome = compute_mauve(
        p_features=references, q_features=outputs, num_buckets=BUCKETS, mauve_scaling_factor=SCALING, seed=SEED
    )
    parts = {"frontier_integral": float(outcome.frontier_integral), "buckets": float(outcome.num_buckets)}
    caution = f"computed from {fewer} texts; below {ADVISED}, values are noisy and depend on the number of texts"
    return Value(_area(outcome.divergence_curve), reason=caution if fewer < ADVISED else "", parts=parts)


def _area(curve: npt.NDArray[np.float64]) -> float:
    """Return the area under the divergence curve (points, 2), from (1, 0) to (0, 1).

    The package sorts points by one coordinate, with ties in any order. Two equal histograms, whose curve is a corner, may
    therefore get 0.75 instead of 1.
    """
    x, y = curve.T
    return float(-np.trapezoid(y, x))


def _version() -> str:
    try:
        return package(PACKAGE)
    except PackageNotFoundError as error:
        raise UserError(
            "the package for MAUVE is not installed", where=PACKAGE, hint=f"pip install {PACKAGE}"
        ) from error
