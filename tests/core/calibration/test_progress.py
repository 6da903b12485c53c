"""Long fits say how far they are, and whoever is told can stop them."""

from collections.abc import Callable
from threading import Event

import numpy as np
import pytest

from core.calibration.calibrate import BestAgreement, CalibrationPoint, calibrate
from core.calibration.learning import learn
from core.calibration.top_systems import by_top
from core.data import OutputKey
from core.progress import Progress, part
from core.stats.threads import in_threads

rng = np.random.default_rng(0)
POINTS = [
    CalibrationPoint(
        OutputKey(system, f"d{i % 5}", str(i)), float(rng.random()), float(rng.random()), float(rng.integers(0, 9))
    )
    for i in range(25)
    for system in "ABCD"
]
WORK: dict[str, Callable[[Progress], object]] = {
    "fit": lambda progress: calibrate(POINTS, draws=20, progress=progress),
    "labels": lambda progress: learn(POINTS, draws=10, repeats=2, progress=progress),
    "best systems": lambda progress: by_top(POINTS, draws=10, progress=progress),
}


class Enough(BaseException):
    """What a page raises in the midst of things, as no error of ours."""


@pytest.mark.parametrize("name", WORK)
def test_the_share_that_is_told_grows_from_nothing_to_all(name: str) -> None:
    told: list[float] = []
    WORK[name](told.append)
    assert told == sorted(told)
    assert (told[0], told[-1]) == (0.0, 1.0)
    assert len(told) > 10


@pytest.mark.parametrize("name", WORK)
def test_who_is_told_can_stop_the_work(name: str) -> None:
    told: list[float] = []

    def stop(share: float) -> None:
        told.append(share)
        if share > 0.3:
            raise Enough

    with pytest.raises(Enough):
        WORK[name](stop)
    assert told[-1] < 0.6


def test_cancelling_drops_the_parts_that_wait_for_a_thread() -> None:
    done, stopped = list[int](), Event()

    def stop(share: float) -> None:
        stopped.set()
        raise Enough

    def work(k: int) -> int:
        done.append(k)
        if k:
            stopped.wait(60)  # a busy machine may run this thread long before the one that stops
        return sum(range(200_000))

    with pytest.raises(Enough):
        in_threads(work, range(500), stop)
    assert len(done) < 250


def test_a_part_of_the_work_has_its_part_of_the_bar() -> None:
    told: list[float] = []
    part(told.append, 1, 4)(0.5)
    assert told == [0.375]


def test_the_best_lambda_is_told_before_the_intervals_which_may_be_stopped() -> None:
    told: list[BestAgreement | float] = []
    found = calibrate(POINTS, draws=20, progress=told.append, on_best=told.append)
    best = next(one for one in told if isinstance(one, BestAgreement))
    assert best == (found.lam, found.agreement, found.at["1"], len(POINTS))
    assert all(isinstance(share, float) and share <= 0.1 for share in told[: told.index(best)])
    assert len(told) - told.index(best) > 10
