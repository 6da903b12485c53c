"""MAUVE is the package's own value on the encoder's vectors; without the package, scoring fails with a message."""

import json
from importlib.metadata import PackageNotFoundError
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from cli.score import set_score
from core.data import Dataset, Output, Segment
from core.errors import UserError
from core.metrics.embedding import mauve
from core.scoring.items import set_scores
from tests.minilm import need_minilm

needs_package = pytest.mark.skipif(
    find_spec("mauve") is None, reason="mauve-text is not installed (pip install mauve-text)"
)


def dataset(n: int) -> Dataset:
    animals = ("cat", "dog", "horse", "bird")
    segments = tuple(Segment("d", str(i), "s", (f"the {animals[i % 4]} ran {i} times",)) for i in range(n))
    near = [Output("near", "d", str(i), f"the {animals[i % 4]} ran {i} times") for i in range(n)]
    far = [Output("far", "d", str(i), f"share prices fell by {i} percent") for i in range(n)]
    return Dataset(segments, tuple(near + far))


# mauve.compute_mauve(p_features=P, q_features=Q, …), mauve-text 0.4.0, faiss-cpu 1.15.1, scikit-learn 1.9.1, for
# rng = default_rng(7); P = rng.normal(size=(120, 8)) and then Q = rng.normal(size=(150, 8)) + 0.4, both float32.
@needs_package
def test_it_equals_the_package() -> None:
    rng = np.random.default_rng(7)
    people = rng.normal(size=(120, 8)).astype(np.float32)
    system = (rng.normal(size=(150, 8)) + 0.4).astype(np.float32)
    value = mauve.mauve(system, people)
    assert value.value == pytest.approx(0.6886955655, abs=1e-6)
    assert value.parts == pytest.approx({"frontier_integral": 0.1322493654, "buckets": 12}, abs=1e-6)
    assert "from 120 texts" in value.reason


@needs_package
def test_each_system_gets_one_value_and_copies_score_best(monkeypatch: pytest.MonkeyPatch) -> None:
    need_minilm(monkeypatch)
    near, far = set_scores(dataset(40))
    assert (near.system, far.system) == ("near", "far")
    assert near.value.value == pytest.approx(1)
    assert far.value.value is not None
    assert far.value.value < 0.1
    assert near.signature != far.signature
    assert near.signature.startswith("mauve|v:1|buckets:auto|scaling:5|seed:25|texts:40+40-")
    assert set_scores(dataset(40)) == [near, far]


@needs_package
def test_small_sets_are_undefined_in_a_file_per_system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    need_minilm(monkeypatch)
    assert [(s.value.value, s.value.status) for s in set_scores(dataset(5))] == [(None, "undefined")] * 2
    data, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    data.write_text(json.dumps({"system": "a", "segment_id": "1", "output": "x", "reference": "y"}) + "\n")
    set_score([data], "mauve", out)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(r["system"], r["metric"], r["score"], r["status"]) for r in rows] == [("a", "mauve", None, "undefined")]


def test_without_the_package_it_is_said_which_one_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    need_minilm(monkeypatch)

    def absent(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(mauve, "package", absent)
    with pytest.raises(UserError, match="pip install mauve-text"):
        set_scores(dataset(3))
    with pytest.raises(UserError, match="not installed"):
        mauve.mauve(np.zeros((30, 2), dtype=np.float32), np.zeros((30, 2), dtype=np.float32))


def test_references_are_needed_and_other_names_are_refused(tmp_path: Path) -> None:
    bare = Dataset((Segment("d", "1", "s"),), (Output("a", "d", "1", "x"),))
    with pytest.raises(UserError, match="the dataset has none"):
        set_scores(bare)
    with pytest.raises(UserError, match="expected mauve"):
        set_score([], "chrf", tmp_path / "out.csv")
