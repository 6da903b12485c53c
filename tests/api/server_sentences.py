"""The sentences of the server that annotators may read, collected from the code that raises them."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
ERRORS = {"UserError", "Unavailable", "Stale", "RequestRefused", "Conflict", "_Cause", "failed", "said"}
RAISED: dict[str, tuple[str, ...]] = {
    "api/actions.py": (),
    "api/endpoint.py": (),
    "api/task/page.py": ("annotators_page", "_page"),
    "api/task/catalogue.py": (),
    "core/data.py": ("Span",),
    "core/mqm/log.py": (),
    "core/services/campaigns/work.py": (),
    "core/services/labels/editor.py": (),
    "core/services/people/links.py": ("resolve",),
    "db/campaigns/assigning.py": (),
    "db/engine.py": ("_turn",),
    "db/failures.py": ("<module>", "explained", "_conflict", "_from_server", "_from_sqlite"),
    "db/labels/repository.py": (),
    "db/lookup.py": ("no_such_project", "hidden_project"),
    "db/sqlite_file.py": ("SqliteFile",),
}
"""Files, and the functions and classes in them; all without names. "<module>" stands for what is outside of functions."""
FOR_PROGRAMS = re.compile(
    r"^(step|project): expected|^Send JSON|^this is not JSON$|docs/backup\.md|-wal and -shm|^Set ERRORSCOPE"
)
"""The page sends no such requests, and hints about files are for whoever runs the server."""


def sentences() -> set[str]:
    """Return the sentences and their parts; a value in a sentence is `{}`."""
    texts = {text for file, names in RAISED.items() for text in _of_file(file, names)}
    return {t for t in texts if len(re.findall(r"[A-Za-z]{2,}", t)) > 1 and not FOR_PROGRAMS.search(t)}


def blank(text: str) -> str:
    """Return the sentence without the names of its values."""
    return re.sub(r"\{\w*\}", "{}", text)


def _of_file(file: str, names: tuple[str, ...]) -> Iterator[str]:
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    module = importlib.import_module(file.removesuffix(".py").replace("/", "."))
    for part in tree.body:
        name = getattr(part, "name", "<module>")
        if names and name not in names:
            continue
        for call in ast.walk(part):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") in ERRORS:
                shown = [*call.args, *(k.value for k in call.keywords if k.arg in ("what", "hint"))]
                for argument in shown:
                    yield from _texts(argument, module, tree)


def _texts(node: ast.AST, module: Any, tree: ast.Module) -> Iterator[str]:
    """Return what an expression may be: texts, names of texts, conditions, and calls of functions that return texts."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield "".join(_part(value, module) for value in node.values)
    elif isinstance(node, ast.IfExp):
        yield from _texts(node.body, module, tree)
        yield from _texts(node.orelse, module, tree)
    elif isinstance(node, ast.Name):
        if isinstance(known := getattr(module, node.id, None), str):
            yield known
        for found in ast.walk(tree):
            if isinstance(found, ast.Assign) and getattr(found.targets[0], "id", "") == node.id:
                yield from _texts(found.value, module, tree)
    elif isinstance(node, ast.Call):
        for found in ast.walk(tree):
            if isinstance(found, ast.FunctionDef) and found.name == getattr(node.func, "id", ""):
                for end in ast.walk(found):
                    if isinstance(end, ast.Return) and end.value is not None:
                        yield from _texts(end.value, module, tree)


def _part(node: ast.expr, module: Any) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    inside = node.value if isinstance(node, ast.FormattedValue) else node
    known = getattr(module, inside.id, None) if isinstance(inside, ast.Name) else None
    return known if isinstance(known, str) else "{}"
