"""Long fits say how far they are, and whoever is told can stop them."""

from collections.abc import Callable
from threading import Event

import numpy as np
import pytest

from core.calibration.calibrate import BestAgreement, CalibrationPoint, calibrate
from core.calibration.learning import by_top, learn
from core.data import OutputKey
from core.progress import Progress
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
    reported: list[float] = []
    WORK[name](reported.append)
    assert reported == sorted(reported)
    assert (reported[0], reported[-1]) == (0.0, 1.0)
    assert len(reported) > 10


@pytest.mark.parametrize("name", WORK)
def test_who_is_told_can_stop_the_work(name: str) -> None:
    reported: list[float] = []

    def stop(share: float) -> None:
        reported.append(share)
        if share > 0.3:
            raise Enough

    with pytest.raises(Enough):
        WORK[name](stop)
    assert reported[-1] < 0.6


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


def test_the_best_lambda_is_told_before_the_intervals_which_may_be_stopped() -> None:
    reported: list[BestAgreement | float] = []
    fit = calibrate(POINTS, draws=20, progress=reported.append, on_best=reported.append)
    best = next(one for one in reported if isinstance(one, BestAgreement))
    assert best == (fit.lam, fit.agreement, fit.at["1"], len(POINTS))
    assert all(isinstance(share, float) and share <= 0.1 for share in reported[: reported.index(best)])
    assert len(reported) - reported.index(best) > 10
