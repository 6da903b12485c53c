"""Shared by all tests: one thread per process, a home of its own per run, and one seed for everything that is random."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

# Before anything loads torch: two workers with a pool of threads each are slower than two workers with one thread each.
for _name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
# The settings of the person who runs the tests are not those of the tests.
for _name in [name for name in os.environ if name.startswith("ERRORSCOPE_") and name != "ERRORSCOPE_TEST_POSTGRES"]:
    del os.environ[_name]

import hypothesis  # noqa: E402
import hypothesis.core  # noqa: E402
import pytest  # noqa: E402
import pytest_randomly  # noqa: E402
from argon2 import PasswordHasher  # noqa: E402

from core.services.people import accounts  # noqa: E402

# A deadline per example measures the load of the machine, not the code. Each run draws other examples, so few are enough
# for `make test`; `make test-all` has the profile `full`, and `thorough` is for a search by hand.
for _name, _examples in (("thorough", 1000), ("full", 100), ("quick", 20)):
    hypothesis.settings.register_profile(
        _name,
        deadline=None,
        max_examples=_examples,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
        print_blob=True,
    )
hypothesis.settings.load_profile("quick")


def _seed_torch(seed: int) -> None:
    """Seed torch, if a test has loaded it."""
    torch = sys.modules.get("torch")
    if torch is None:
        return
    if torch.cuda.is_initialized():
        torch.manual_seed(seed)
    else:
        torch.default_generator.manual_seed(seed)


# thinc has pytest-randomly seed every kind of device three times per test. Without a GPU, torch writes the whole stack down
# for each of them: 2 ms per test. random and numpy are seeded by the plugin itself.
pytest_randomly.entrypoint_reseeds = [_seed_torch]


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Let Hypothesis draw its examples from the seed of pytest-randomly, so that one number repeats a run."""
    if hypothesis.core.global_force_seed is None:  # else it was given with --hypothesis-seed
        hypothesis.core.global_force_seed = session.config.getoption("randomly_seed", None)


LONGEST_FIRST = ("journeys", "browser", "workers", "pages", "commands")
"""Folders whose tests take long. A long file that begins last keeps one process busy while the others have nothing to do."""


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item: pytest.Item) -> None:
    """Run what needs the bundled weights or PostgreSQL in `make test-all` only."""
    if item.get_closest_marker("models") or item.get_closest_marker("postgresql"):
        item.add_marker(pytest.mark.extended)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take long: those of such folders, then those with the most tests."""
    tests = Counter(item.path for item in items)
    rank = {folder: place for place, folder in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: (rank.get(item.path.parent.name, len(rank)), -tests[item.path], item.path))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the time of each folder, and the seed also under -q, which hides the header."""
    seconds: Counter[str] = Counter()
    tests: Counter[str] = Counter()
    for report in chain.from_iterable(terminalreporter.stats.values()):
        if isinstance(report, pytest.TestReport):
            parts = Path(report.location[0]).parts[1:-1]
            folder = "/".join(parts[:1]) or "."
            seconds[folder] += report.duration
            tests[folder] += report.when == "call" or report.outcome == "skipped"
    for folder, total in seconds.most_common():
        terminalreporter.write_line(f"tests/{folder}: {tests[folder]} tests, {total:.0f} s")
    terminalreporter.write_line(
        f"The order of the tests is random. Repeat it with: --randomly-seed={config.getoption('randomly_seed', None)}"
    )


@pytest.fixture(scope="session", autouse=True)
def _for_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the tests out of ~/.errorscope, and let passwords be computed quickly."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ERRORSCOPE_HOME", str(tmp_path_factory.mktemp("errorscope")))
        # The parameters of the program take a tenth of a second per password, and 64 MiB.
        patch.setattr(accounts, "_HASHER", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
        yield
