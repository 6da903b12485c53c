"""The engine with several threads: which outputs each refines, and that results, progress and cancelling are those of one."""

import random
import threading
from collections.abc import Iterator

import pytest
import torch

from core.progress import Cancelled
from core.refine import engine
from core.refine.engine import Task, refine, refine_all
from core.refine.result import Variant
from tests.core.refine.test_engine import ALL, sentence
from tests.fakes import stop_when
from tests.tiny import tiny_scorer


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_outputs_are_divided_among_threads_with_their_conditions() -> None:
    tasks = [Task(f"output {i}" * (1 + i % 3), (f"reference {i // 3}",)) for i in range(24)]
    parts = engine._parts(tasks, 2)
    assert sorted(i for part in parts for i in part) == list(range(24))
    assert [len(part) for part in parts] == [12, 12]
    assert not {tasks[i].conditions for i in parts[0]} & {tasks[i].conditions for i in parts[1]}
    assert engine._parts(tasks[:7], 2) == [list(range(7))]
    assert engine._parts([], 2) == [[]]


def test_outputs_that_cannot_be_divided_evenly_are_one_part() -> None:
    tasks = [Task(f"output {i}", ("reference" if i < 20 else "another",)) for i in range(24)]
    assert engine._parts(tasks, 2) == [list(range(24))]
    assert engine._parts([task._replace(conditions=("one",)) for task in tasks], 2) == [list(range(24))]


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("variant", ["precision", "f"])
def test_threads_do_not_change_an_analysis(variant: Variant) -> None:
    scorer, rng, heard = tiny_scorer(3), random.Random(8), list[tuple[float, object]]()
    tasks = [Task(sentence(rng, 25), (sentence(rng, 25),)) for _ in range(12)]
    found = refine_all(scorer, tasks, variant, ALL, lambda share: heard.append((share, threading.current_thread())))
    for task, got in zip(tasks, found, strict=True):
        alone = refine(scorer, *task, variant, ALL)
        assert [s.text for s in got.steps] == [s.text for s in alone.steps]
        assert got.parts() == pytest.approx(alone.parts(), abs=1e-4)
    shares = [share for share, _ in heard]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert {thread for _, thread in heard} == {threading.current_thread()}
    with pytest.raises(Cancelled):
        refine_all(scorer, tasks * 4, variant, ALL, stop_when(lambda share: share > 0))
