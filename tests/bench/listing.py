"""Perturbed texts for a person to read: `python -m tests.bench.listing FILE --seed 0`; without a file, the bundled sample.

A file is text, one sentence a line (also .gz), or a table with a column `ref` or `reference`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from core.english.analysis import parser_name
from core.errors import UserError
from core.formats.columns import plain
from core.formats.files import extension, file_at, raw_lines
from core.formats.parsing.cells import Cell
from core.formats.streams.opened import text_bytes
from core.formats.table import read_table
from core.perturbations import registry
from core.text.edits import Change, Refused

_REFERENCES = ("ref", "reference", "references", "ref0", "reference0")


def shown(text: str, change: Change) -> str:
    """The text with its edits as `{old→new}`."""
    out, done = [], 0
    for start, end, new in change.edits:
        out += [text[done:start], "{", text[start:end], "→", new, "}"]
        done = end
    return "".join([*out, text[done:]])


def listing(texts: Sequence[str], names: Sequence[str], seed: int) -> Iterator[str]:
    """Markdown: what depends on what, then every text under every phenomenon, changed or refused."""
    yield f"{len(texts)} texts, seed {seed}, {parser_name()}. `{{old→new}}` marks each edit."
    for perturbation in registry.chosen(names):
        made = [(text, perturbation.perturb(text, seed)) for text in texts]
        changes = [(text, m) for text, m in made if isinstance(m, Change)]
        yield f"\n## {perturbation.phenomenon} (`{perturbation.name}`): {len(changes)} of {len(texts)}\n"
        yield f"{perturbation.help}.\n"
        yield from (f"{n}. {shown(text, change)}" for n, (text, change) in enumerate(changes, start=1))
        reasons = [m.reason for _, m in made if isinstance(m, Refused)]
        yield from (f"- refused, {reasons.count(reason)}: {reason}" for reason in dict.fromkeys(reasons))


def texts_of(path: Path) -> list[str]:
    """The lines of a text file, or the reference column of a table, each text once. Raises UserError."""
    upload = file_at(path)
    if extension(upload.name) in ("csv", "tsv", "jsonl"):
        table = read_table(upload)
        at = next((i for i, c in enumerate(table.columns) if plain(c) in _REFERENCES), None)
        if at is None:
            raise UserError("no column of references", where=str(path), expected="ref or reference")
        found = [cell for row in table.rows for cell in _cells(row.cells[at])]
    else:
        found = [line.rstrip("\r\n") for line in raw_lines(text_bytes(upload))]
    return [text for text in dict.fromkeys(found) if text.strip()]


def _cells(cell: Cell) -> tuple[str, ...]:
    return (cell,) if isinstance(cell, str) else cell if isinstance(cell, tuple) else ()


def sample_texts() -> list[str]:
    """Every reference of the bundled sample."""
    import json
    from importlib.resources import files

    lines = files("core.sample").joinpath("segments.jsonl").read_text("utf-8").splitlines()
    return list(dict.fromkeys(r for line in lines for r in json.loads(line)["references"]))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.listing", description=__doc__)
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--texts", type=int, default=50, help="how many texts, from the first on")
    parser.add_argument("--names", default=",".join(registry.MENLI), help="perturbations, separated by commas")
    given = parser.parse_args(arguments)
    try:
        texts = texts_of(given.file) if given.file else sample_texts()
        for line in listing(texts[: given.texts], given.names.split(","), given.seed):
            print(line)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
