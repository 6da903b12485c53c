"""Noised texts made by several processes are those made by one."""

from dataclasses import replace

import psutil
import pytest

from core.data import Item
from core.models import loading
from core.perturbations import registry
from core.robustness.stress.gold import Gold
from core.robustness.stress.noised import FEW, Make, make_locally, makers, noised
from tests.core.robustness.stress.fake_noise import CUT, of_words

GOLDS = [
    Gold(str(i), Item("Quelle", f"The {n} men went to Berlin. They had not seen the old house.", ()))
    for i, n in enumerate(["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"])
]


@pytest.fixture(scope="module")
def two() -> Make:  # type: ignore[misc]
    assert len(GOLDS) >= FEW
    with makers(GOLDS, 2) as make:
        yield make


@pytest.mark.parametrize("name", ["token-drop", "sentence-replacement", "frequent-3gram", "copy-source"])
def test_two_processes_make_what_one_makes(two: Make, name: str) -> None:
    noise = registry.noise(name)
    alone, shared = noised(noise, GOLDS, 3, 2, lambda done: None), noised(noise, GOLDS, 3, 2, lambda done: None, two)
    assert alone == shared
    assert list(two(noise, [3])) == list(make_locally(GOLDS)(noise, [3]))


def test_a_noise_that_is_not_the_registrys_is_made_make_locally() -> None:
    gold = of_words(*[8] * FEW)
    with makers(gold, 2) as make:
        assert list(make(CUT, [0])) == list(make_locally(gold)(CUT, [0]))


@pytest.mark.parametrize(("gpu", "processes"), [pytest.param(False, 2, marks=pytest.mark.extended), (True, 0)])
def test_a_noise_with_a_model_loads_it_in_few_processes_or_make_locally(
    monkeypatch: pytest.MonkeyPatch, gpu: bool, processes: int
) -> None:
    drop = registry.noise("token-drop")
    loads = replace(drop, loads_model=True)
    monkeypatch.setattr(loading, "device", lambda: "cuda" if gpu else "cpu")
    monkeypatch.setattr(registry, "noise", lambda name: loads)
    before = len(psutil.Process().children())
    with makers(GOLDS, 3) as make:
        assert list(make(loads, [0])) == list(make_locally(GOLDS)(drop, [0]))
        assert len(psutil.Process().children()) - before <= processes
        assert (len(psutil.Process().children()) > before) == (not gpu)
