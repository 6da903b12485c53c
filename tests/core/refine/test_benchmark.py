"""`make bench` without the data beside the repository, and the end of its processes."""

from __future__ import annotations

import multiprocessing as mp
from pathlib import Path

import pytest

from tests.bench import refinement
from tests.paths import needed_data


def test_the_benchmark_draws_pairs_without_the_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(refinement, "PAIRS", tmp_path / "absent.tsv.gz")
    for longest in (12, 20, 200):
        drawn = refinement.pairs(8, seed=1, longest=longest)
        assert len(drawn) == 8
        assert all(0 < len(text.split()) <= longest for pair in drawn for text in pair)


def test_a_process_of_the_benchmark_ends_with_its_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refinement, "scorer", lambda *size: None)
    monkeypatch.setattr(refinement, "count_tokens", lambda model: [0])
    parent, child = mp.Pipe()
    parent.close()
    refinement.serve(child, engine=True, size="bundled", dtype="fp32")


def test_a_benchmark_says_which_file_it_needs() -> None:
    with pytest.raises(SystemExit, match=r"needs the file .*absent\.gz"):
        needed_data("absent.gz")
