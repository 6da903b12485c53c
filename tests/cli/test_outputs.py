"""Every command that writes refuses to write over an input, and leaves the old file where it is killed."""

import ast
import inspect
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from itertools import combinations
from pathlib import Path

import pytest

from cli.__main__ import COMMANDS, ON_THE_DATABASE, program
from core.errors import UserError
from tests.cli.program import ROOT
from tests.cli.test_score import INPUT

INPUTS: dict[str, list[str]] = {
    "score": ["score {files} --out {out} --replies {replies}", "score {files} --set mauve --out {out}"],
    "refine": ["refine {files} --prompts {prompts}:mt --out {out}"],
    "mqm": ["mqm {file} --out {out}"],
    "convert": ["convert {labels} --texts {texts} --to marot --out {out}"],
    "calibrate": ["calibrate {refined} --human {human} --outputs {outputs} --out {out}"],
    "evaluate": [
        "evaluate {scores} --human {human} --human-systems {human_systems} --external X={external} --outputs {outputs} --out {out}",
        "evaluate --mtme {mtme} --out {out}",
    ],
    "sensitivity": ["sensitivity {pairs} --out {out}"],
    "adversarial": ["adversarial {cases} --out {out}"],
    "stress": ["stress {files} --inject {inject} --out {out} --json {json} --csv {csv} --resume {resume}"],
    "attack": ["attack {files} --out {out}"],
    "ranges": ["ranges {scores} --out {out}"],
}
OUTPUTS = {"out", "json", "csv", "resume", "replies"}
READ_ONLY = {"metrics", "models", "reproduce"}
TEXT_PATHS = {"external", "prompts"}
"""Options that name a file within a text."""
PROMPTS = '{"mt": ["Such as"]}'


def commands() -> Iterator[tuple[str, set[str]]]:
    """Every command with its parameters that are paths."""
    for name, (module, _) in COMMANDS.items():
        made = getattr(import_module(f"cli.{module}"), f"{name}_command")
        hints = inspect.get_annotations(made, eval_str=True) if inspect.isfunction(made) else {}
        yield name, {parameter for parameter, hint in hints.items() if "Path" in str(hint)}


def fields(template: str) -> set[str]:
    return {part.partition("}")[0] for part in template.split("{")[1:]}


def test_every_command_is_classified() -> None:
    found = dict(commands())
    assert found.keys() == INPUTS.keys() | READ_ONLY | set(ON_THE_DATABASE)
    for name, paths in found.items():
        if name in ON_THE_DATABASE:
            continue
        named = set().union(*map(fields, INPUTS.get(name, [])))
        assert paths - {"data"} <= named, f"{name}: say of {paths - named} whether they are read or written"
        assert named <= paths | TEXT_PATHS
    for name in READ_ONLY:
        assert not OUTPUTS & found[name]


def test_commands_write_through_one_module() -> None:
    direct = {"write_text", "write_bytes", "replace_file"}
    kept = {"core/formats/output.py"}
    for path in sorted((ROOT / "core").rglob("*.py")):
        if str(path.relative_to(ROOT)) in kept:
            continue
        text = path.read_text(encoding="utf-8")
        if not any(name in text for name in direct):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                assert node.func.attr not in direct, f"{path}, line {node.lineno}: use core.formats.output"


def pairs() -> Iterator[tuple[str, str, str]]:
    for templates in INPUTS.values():
        for template in templates:
            outputs = sorted(fields(template) & OUTPUTS)
            for other in sorted(fields(template) - OUTPUTS):
                yield from ((template, other, output) for output in outputs)
            yield from ((template, *two) for two in combinations(outputs, 2))


@pytest.mark.parametrize(("template", "other", "output"), list(pairs()))
def test_no_output_is_an_input_or_another_output(tmp_path: Path, template: str, other: str, output: str) -> None:
    paths = {name: tmp_path / f"{name}.csv" for name in fields(template)}
    for name, path in paths.items():
        path.write_text(PROMPTS if name == "prompts" else INPUT, encoding="utf-8")
    paths[output].unlink()
    os.link(paths[other], paths[output])
    before = {path: path.read_bytes() for path in paths.values()}
    arguments = template.format(**paths).split()
    with pytest.raises(UserError, match="the same file is given twice"):
        program(arguments[0])(arguments, standalone_mode=False)
    assert {path: path.read_bytes() for path in paths.values()} == before
    assert set(tmp_path.iterdir()) == set(paths.values())


# A process that was started in the background may ignore SIGINT.
STOPS = "import os, signal, time; signal.signal(signal.SIGINT, signal.default_int_handler); os.fsync = lambda handle: (print('writing', flush=True), time.sleep(120))"


@pytest.mark.parametrize(
    ("command", "how"),
    [
        ("score", "SIGKILL"),
        pytest.param("score", "SIGTERM", marks=pytest.mark.extended),
        pytest.param("score", "SIGINT", marks=pytest.mark.extended),
        pytest.param("refine", "SIGKILL", marks=pytest.mark.models),
    ],
)
@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="this system has no files without a name")
def test_a_command_killed_while_it_writes_leaves_the_old_file(tmp_path: Path, command: str, how: str) -> None:
    source, out = tmp_path / "in.csv", tmp_path / "out.jsonl"
    source.write_text("".join(INPUT.splitlines(keepends=True)[:2]), encoding="utf-8")
    out.write_text("old")
    options = ["--metrics", "chrf"] if command == "score" else ["--k", "1", "--rounds", "1"]
    arguments = ["errorscope", command, str(source), *options, "--out", str(out)]
    code = f"{STOPS}; import sys; sys.argv = {arguments!r}; from cli.__main__ import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as killed:
        assert killed.stdout is not None
        assert killed.stdout.readline() == b"writing\n"
        killed.send_signal(getattr(signal, how))
    assert killed.returncode != 0
    assert {p.name: p.read_text() for p in tmp_path.iterdir() if p != source} == {"out.jsonl": "old"}
