"""The lock files belong to the requirements, and hold all that is installed."""

import hashlib
import re
from importlib.metadata import PackageNotFoundError, distribution

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement

from tests.paths import ROOT

LOCKS = ("requirements.lock", "requirements-cuda.lock", "tests/requirements.lock", "requirements-cpu.lock")
PIN = re.compile(r"^([a-z0-9][a-z0-9.-]*)==([^ ;]+)(?: ; (.+?))? \\$")


def pins(lock: str) -> dict[str, list[tuple[str, str]]]:
    """The versions of each package in a lock file, each with its marker."""
    found: dict[str, list[tuple[str, str]]] = {}
    for line in (ROOT / lock).read_text(encoding="utf-8").splitlines():
        if match := PIN.match(line):
            found.setdefault(match[1], []).append((match[2], match[3] or ""))
    return found


def direct(path: str) -> list[tuple[str, str]]:
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    return [(name, version) for name, _, version in (line.partition("==") for line in lines) if version]


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_was_made_from_the_requirements_as_they_are(lock: str) -> None:
    """After a change of requirements: `pip install uv` and `make lock`."""
    said = dict(re.findall(r"^# (\S+) sha256:(\w+)$", (ROOT / lock).read_text(encoding="utf-8"), re.M))
    assert said
    assert said == {name: hashlib.sha256((ROOT / name).read_bytes()).hexdigest() for name in said}


@pytest.mark.parametrize(
    ("lock", "requirements"),
    [("requirements.lock", "requirements.txt"), ("tests/requirements.lock", "tests/requirements.txt")],
)
def test_every_requirement_is_locked_at_its_version(lock: str, requirements: str) -> None:
    locked = pins("requirements.lock") | pins(lock)  # the tests need some of what the app needs
    assert {name: locked.get(name) for name, _ in direct(requirements)} == {
        name: [(version, "")] for name, version in direct(requirements)
    }


@pytest.mark.parametrize("lock", LOCKS)
def test_every_line_is_a_pin_or_a_hash_and_every_pin_has_hashes(lock: str) -> None:
    hashes: dict[str, int] = {}
    name = ""
    for line in (ROOT / lock).read_text(encoding="utf-8").splitlines():
        if match := PIN.match(line):
            name = f"{match[1]}=={match[2]}"
            hashes[name] = 0
        elif not line.startswith("# "):
            assert re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}( \\)?", line), line
            hashes[name] += 1
    assert len(hashes) > (0 if "cpu" in lock else 10)
    assert all(hashes.values()), hashes


def test_the_cpu_build_of_torch_is_the_version_that_is_required() -> None:
    ((version, _),) = pins("requirements-cpu.lock")["torch"]
    assert version == dict(direct("requirements.txt"))["torch"] + "+cpu"


def test_no_package_is_locked_twice_for_one_system() -> None:
    for python in ("3.11", "3.12", "3.13", "3.14"):
        for name, versions in (entry for lock in LOCKS[:3] for entry in pins(lock).items()):
            here = {"python_version": python, "python_full_version": f"{python}.0", "sys_platform": "linux"}
            assert sum(not m or Marker(m).evaluate(here) for _, m in versions) <= 1, name
    assert not set(pins(LOCKS[0])) & set(pins(LOCKS[1]))
    assert not set(pins(LOCKS[0])) & set(pins(LOCKS[2]))


def test_all_that_the_installed_packages_need_is_locked() -> None:
    """The lock is installed without resolving anything: what it lacks would be missing."""
    locked = {name for lock in LOCKS for name in pins(lock)}
    todo = [Requirement(name) for path in ("requirements.txt", "tests/requirements.txt") for name, _ in direct(path)]
    seen: set[str] = set()
    while todo:
        wanted = todo.pop()
        name = re.sub(r"[-_.]+", "-", wanted.name).lower()
        if name in seen and not wanted.extras:
            continue
        seen.add(name)
        assert name in locked, name
        try:
            needs = distribution(name).requires or []
        except PackageNotFoundError:
            continue
        for need in map(Requirement, needs):
            if need.marker is None or any(need.marker.evaluate({"extra": e}) for e in ("", *wanted.extras)):
                todo.append(need)
    assert len(seen) > 80
