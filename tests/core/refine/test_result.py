"""The distances of a refinement, how λ weighs them, and how a refinement is stored."""

import json

import pytest

from core.refine.engine import refine
from core.refine.result import Refinement, weighted
from tests.tiny import tiny_scorer


def test_a_refinement_survives_json() -> None:
    refinement = refine(tiny_scorer(), "The cat sat on a mat", ["The dog sat on the mat"], "f")
    assert Refinement.from_json(json.loads(json.dumps(refinement.to_json()))) == refinement


def test_table_9_of_the_paper_at_lambda_1_7() -> None:
    # (Dist_exp, Dist_imp) and the printed score of the eight outputs of Lu et al. 2023, Table 9
    rows = [
        (0.000, 0.827, -0.306), (0.348, 0.310, -0.334), (0.000, 0.662, -0.245), (0.231, 0.365, -0.281),
        (0.000, 1.112, -0.412), (0.133, 0.953, -0.437), (0.000, 0.947, -0.351), (0.258, 0.681, -0.415),
    ]  # fmt: skip
    for explicit, implicit, printed in rows:
        assert weighted(explicit, implicit, 1.7) == pytest.approx(printed, abs=1e-3)


def test_lambda_runs_from_implicit_only_to_explicit_only() -> None:
    assert weighted(0.3, 0.5, 0) == pytest.approx(-0.5)
    assert weighted(0.3, 0.5, float("inf")) == pytest.approx(-0.3)
    for bad in (-0.1, float("nan")):
        with pytest.raises(ValueError, match="λ"):
            weighted(0.3, 0.5, bad)
