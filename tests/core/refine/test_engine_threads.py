"""The engine with several threads: which outputs each refines, and that results, progress and cancelling are those of one."""

import random
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from core.models import parallel
from core.progress import Cancelled, Progress
from core.refine.engine import Task, refine, refine_all
from core.refine.result import Options, Variant
from tests.builders import stop_when
from tests.core.refine.test_engine import ALL, sentence
from tests.tiny import tiny_scorer


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """Return the parts that run side by side: indices of outputs. Here they run one after the other."""
    seen: list[list[int]] = []

    def one_by_one(parts: Any, work: Any, device: torch.device, progress: Progress) -> list[Any]:
        seen.extend(parts)
        return [work(part, progress) for part in parts]

    monkeypatch.setattr(parallel, "passes", lambda device: 2)
    monkeypatch.setattr(parallel, "side_by_side", one_by_one)
    return seen


PLAIN = Options(rounds=0, non_translation="off")


def test_outputs_are_divided_among_threads_with_their_conditions(parts: list[list[int]]) -> None:
    tasks = [Task(f"output {i}" * (1 + i % 3), (f"reference {i // 3}",)) for i in range(24)]
    refined = refine_all(tiny_scorer(), tasks, "precision", PLAIN)
    assert sorted(i for part in parts for i in part) == list(range(24))
    assert [len(part) for part in parts] == [12, 12]
    assert not {tasks[i].conditions for i in parts[0]} & {tasks[i].conditions for i in parts[1]}
    assert [f.refined for f in refined] == [task.hypothesis for task in tasks]


def test_few_outputs_or_uneven_parts_are_not_divided(parts: list[list[int]]) -> None:
    tasks = [Task(f"output {i}", ("reference" if i < 20 else "another",)) for i in range(24)]
    few = [Task(f"output {i}", (f"reference {i}",)) for i in range(7)]
    for undivided in (tasks, [task._replace(conditions=("one",)) for task in tasks], few, []):
        assert len(refine_all(tiny_scorer(), undivided, "precision", PLAIN)) == len(undivided)
    assert parts == []


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("variant", ["precision", pytest.param("f", marks=pytest.mark.extended)])
def test_threads_do_not_change_an_analysis(variant: Variant) -> None:
    scorer, rng, heard = tiny_scorer(3), random.Random(8), list[tuple[float, object]]()
    tasks = [Task(sentence(rng), (sentence(rng),)) for _ in range(10)]
    options = Options(rounds=2, non_translation="off")
    refined = refine_all(
        scorer, tasks, variant, options, lambda share: heard.append((share, threading.current_thread()))
    )
    for task, got in zip(tasks, refined, strict=True):
        alone = refine(scorer, *task, variant, options)
        assert [s.text for s in got.steps] == [s.text for s in alone.steps]
        assert got.parts() == pytest.approx(alone.parts(), abs=1e-4)
    shares = [share for share, _ in heard]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert {thread for _, thread in heard} == {threading.current_thread()}
    with pytest.raises(Cancelled):
        refine_all(scorer, tasks * 4, variant, ALL, stop_when(lambda share: share > 0))
