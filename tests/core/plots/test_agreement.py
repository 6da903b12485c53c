"""What the charts of agreement draw."""

from typing import Any

import numpy as np

from core.plots.campaigns import severity_confusion, tau_matrix
from core.stats.correlation.correlation import Statistic
from core.stats.raters.rater_agreement import RaterPair


def values_of(drawn: dict[str, Any]) -> list[dict[str, Any]]:
    (values,) = drawn["datasets"].values()
    return list(values)


def test_each_pair_of_raters_has_two_cells_with_any_reason() -> None:
    pairs = [
        RaterPair("ann", "bob", Statistic(-0.25, "", 9)),
        RaterPair("ann", "cid", Statistic(None, "all ann's scores are equal", 4)),
    ]
    drawn = tau_matrix(["ann", "bob", "cid"], pairs).to_dict()
    rows = values_of(drawn)
    assert len(rows) == 4
    assert {(r["a"], r["b"]) for r in rows if r["tau"] == -0.25} == {("ann", "bob"), ("bob", "ann")}
    assert {(r["text"], r["why"]) for r in rows if r["tau"] is None} == {("–", "all ann's scores are equal")}
    assert next(r["text"] for r in rows if r["tau"] is not None) == "−0.25"


def test_the_confusion_is_shaded_by_the_share_of_its_row() -> None:
    drawn = severity_confusion(np.array([[6, 2], [4, 0]]), ["Major", "not marked"], rows="ann", columns="bob").to_dict()
    rows = values_of(drawn)
    cells = {(r["row"], r["column"]): (r["n"], r["share"]) for r in rows}
    # the cell marked by neither is left out
    assert cells == {
        ("Major", "Major"): (6, 0.75),
        ("Major", "not marked"): (2, 0.25),
        ("not marked", "Major"): (4, 1.0),
    }
    empty = severity_confusion(np.zeros((2, 2), dtype=int), ["Major", "x"], rows="a", columns="b").to_dict()
    assert {r["share"] for r in values_of(empty)} == {0.0}
