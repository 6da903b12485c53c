"""Digests of results: their values in columns, kept in one small file, and compared with a tolerance.

A result is any nested value, or a file or printed text. Its leaves with the same path (list indexes left out) are one column, in order:
numbers are kept to 11 decimals, texts as the first 24 bits of their SHA-256. Of printed text, LaTeX and HTML, numbers and words are two columns, so
that a new wording moves no number. Times, random ids and folders are replaced first.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import lzma
import math
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

TOLERANCE = 1e-9
"""Largest difference of equal numbers, relative to the number where it is above 1."""
LONG, BLOCK = 2000, 50
"""Columns of more than so many texts are kept as one digest per so many of them."""
SHOWN = 8
"""Differences named per part."""

Columns = dict[str, list[Any]]
TEMPORARY = re.compile(r"(/[\w.-]+)*/digests-\w+(?=/|\b)")
NORMALISED: tuple[tuple[re.Pattern[str], str], ...] = (
    (TEMPORARY, "FOLDER"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?( ?UTC|Z|[+-]\d\d:?\d\d)?"), "TIME"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "ID"),
    (re.compile(r"\b[0-9a-f]{32}\b"), "ID"),
    (re.compile(r"/t/[\w-]{16,}"), "/t/TOKEN"),
)
NUMBER = re.compile(r"(?<![\w.])[-−+]?(\d+(,\d{3})*(\.\d+)?|\.\d+)(e[-+]?\d+)?(?![\w])")
LIBRARY = re.compile(r"<(script|style)\b[^>]*>(?!\s*[\[{]).*?</\1>", re.DOTALL)
"""Scripts and styles of an HTML page that are no data."""
SECONDS = (1.7e9, 2.2e9)
"""Numbers in this range, and a thousand times it, are times since 1970."""


class Code(str):
    """The digest of a text."""

    __slots__ = ()


class Digest(NamedTuple):
    """The columns of a part, and numbers of things that are counted only, such as perturbed texts."""

    columns: Columns
    counts: dict[str, int]


class Compared(NamedTuple):
    """One row of the table: how many values of a part are equal, the largest difference of two numbers, and what differs.

    `notes` are columns with another name and the same values, and other numbers of what is counted only: no differences.
    """

    part: str
    values: int
    equal: int
    largest: float
    differing: list[str]
    notes: list[str]


def digest(result: object, counted: Sequence[str] = ()) -> Digest:
    """Return the digest of a nested result. Columns whose path contains one of `counted` are counted only."""
    columns: Columns = {}
    for path, leaf in _leaves(result, ""):
        columns.setdefault(path, []).append(leaf)
    for path in [path for path, leaves in columns.items() if len(leaves) > LONG and _all_texts(leaves)]:
        leaves = columns.pop(path)
        columns[f"{path} by {BLOCK}"] = [
            "\n".join(map(str, leaves[i : i + BLOCK])) for i in range(0, len(leaves), BLOCK)
        ]
    counts = {path: len(leaves) for path, leaves in columns.items() if any(word in path for word in counted)}
    return Digest({path: leaves for path, leaves in columns.items() if path not in counts}, counts)


def _all_texts(leaves: Sequence[Any]) -> bool:
    return all(leaf is None or isinstance(leaf, str) for leaf in leaves)


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if hasattr(value, "_asdict"):
        value = value._asdict()
    elif is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        for key, of_key in value.items():
            yield from _leaves(of_key, f"{path}.{_normal(str(key))}" if path else _normal(str(key)))
        if not value:
            yield f"{path}.length".lstrip("."), 0
    elif isinstance(value, list | tuple | set | frozenset):
        value = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
        yield f"{path}.length".lstrip("."), len(value)
        for one in value:
            yield from _leaves(one, f"{path}[]")
    elif isinstance(value, str):
        yield path, _normal(value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, _number(float(value))
    elif value is None or isinstance(value, bool):
        yield path, value
    else:
        yield path, _normal(str(value))


def _number(value: float) -> float | str:
    if not math.isfinite(value):
        return str(value)
    at = abs(value)
    return "TIME" if any(SECONDS[0] < at / scale < SECONDS[1] for scale in (1, 1000)) else value


def _normal(text: str) -> str:
    for pattern, word in NORMALISED:
        text = pattern.sub(word, text)
    return text


def document(name: str, data: bytes) -> Any:
    """Return the contents of a file as a nested value, read by its ending."""
    ending = name.rpartition(".")[2]
    if ending == "zip":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return {member: document(member, archive.read(member)) for member in sorted(archive.namelist())}
    if ending == "gz":
        return document(name.removesuffix(".gz"), gzip.decompress(data))
    if ending in ("parquet", "arrow"):
        return _columnar(ending, data)
    text = data.decode("utf-8")
    if ending == "json":
        return json.loads(text)
    if ending == "jsonl":
        return [json.loads(line) for line in text.split("\n") if line.strip()]
    if ending in ("csv", "tsv"):
        return _table(text, "\t" if ending == "tsv" else ",")
    if ending == "score":
        return [[_cell(cell) for cell in line.split("\t")] for line in text.splitlines()]
    return printed(text)


def _columnar(ending: str, data: bytes) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if ending == "parquet":
        return pq.read_table(io.BytesIO(data)).to_pylist()
    open_as = pa.ipc.open_file if data.startswith(b"ARROW1") else pa.ipc.open_stream
    return open_as(io.BytesIO(data)).read_all().to_pylist()


def _table(text: str, delimiter: str) -> list[dict[str, Any]]:
    csv.field_size_limit(10**9)
    if delimiter == "\t":
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quoting=csv.QUOTE_NONE))
    else:
        rows = list(csv.reader(io.StringIO(text, newline="")))
    names = rows[0] if rows else []
    return [
        {names[i] if i < len(names) else f"column {i + 1}": _cell(cell) for i, cell in enumerate(row)}
        for row in rows[1:]
    ]


def _cell(text: str) -> str | float:
    try:
        return float(text) if text.strip().lower() not in ("nan", "inf", "-inf", "infinity") else text
    except ValueError:
        return text


def printed(text: str) -> dict[str, list[Any]]:
    """Return the numbers of a text in order, and its lines with # for each number. Libraries within HTML are left out."""
    plain = _normal(LIBRARY.sub("", text))
    numbers = [m.group().replace(",", "").replace("−", "-") for m in NUMBER.finditer(plain)]
    return {
        "numbers": [float(n) for n in numbers],
        "lines": [NUMBER.sub("#", line).rstrip() for line in plain.splitlines()],
    }


def save(path: Path, digests: Mapping[str, Digest], about: Mapping[str, str]) -> None:
    """Write digests to a file; one that ends in .xz is compressed, equal contents to equal bytes."""
    parts = {
        name: {"columns": {path: _kept(leaves) for path, leaves in d.columns.items()}, "counts": d.counts}
        for name, d in digests.items()
    }
    text = json.dumps({"about": about, "parts": parts}, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    data = text.replace('},"', '},\n"').encode()
    path.write_bytes(lzma.compress(data, preset=9) if path.suffix == ".xz" else data)


def load(path: Path) -> tuple[dict[str, Digest], dict[str, str]]:
    """Return the digests of a file that `save` wrote, texts as their digests, and what it says about the machine."""
    data = path.read_bytes()
    read = json.loads(lzma.decompress(data) if path.suffix == ".xz" else data)
    parts = {
        name: Digest({c: _given(k) for c, k in p["columns"].items()}, p["counts"]) for name, p in read["parts"].items()
    }
    return parts, read["about"]


def _coded(leaf: Any) -> Any:
    if isinstance(leaf, Code):
        return leaf
    if isinstance(leaf, str):
        return Code(hashlib.sha256(leaf.encode("utf-8", "surrogatepass")).hexdigest()[:6])
    if isinstance(leaf, float):
        return int(leaf) if leaf.is_integer() and abs(leaf) < 2**53 else round(leaf, 11)
    return leaf


def _kept(leaves: Sequence[Any]) -> list[Any]:
    """Return the leaves as they are stored; equal ones in a row as one entry [leaf, times]."""
    found: list[list[Any]] = []
    for leaf in map(_coded, leaves):
        if found and type(found[-1][0]) is type(leaf) and found[-1][0] == leaf:
            found[-1][1] += 1
        else:
            found.append([leaf, 1])
    return [leaf if times == 1 else [leaf, times] for leaf, times in found]


def _given(kept: Sequence[Any]) -> list[Any]:
    repeated = ((k[0], k[1]) if isinstance(k, list) else (k, 1) for k in kept)
    return [Code(leaf) if isinstance(leaf, str) else leaf for leaf, times in repeated for _ in range(times)]


def compare(
    before: Mapping[str, Digest], now: Mapping[str, Digest], tolerance: float = TOLERANCE, *, numbers_only: bool = False
) -> list[Compared]:
    """Compare the digests of a file with those of this installation, part by part. With `numbers_only`, texts may differ."""
    missing = Digest({}, {})
    names = [*before, *(name for name in now if name not in before)]
    return [_compared(n, before.get(n, missing), now.get(n, missing), tolerance, numbers_only) for n in names]


def _compared(part: str, before: Digest, now: Digest, tolerance: float, numbers_only: bool) -> Compared:
    old, new = dict(before.columns), dict(now.columns)
    if numbers_only:
        old, new = (
            {path: numbers for path, leaves in of.items() if (numbers := _numbers(leaves))} for of in (old, new)
        )
    for path in {*before.counts, *now.counts}:
        old.pop(path, None), new.pop(path, None)
    notes = [f"{b} was named {a}" for a, b in _renamed(old, new)]
    values = equal = 0
    largest, differing = 0.0, list[str]()
    for path in dict.fromkeys([*old, *new]):
        a, b = old.get(path), new.get(path)
        values += max(len(a or ()), len(b or ()))
        if a is None or b is None:
            differing.append(f"{path or 'value'}: {'new' if a is None else 'gone'}, {len(a or b or ())} values")
            continue
        if len(a) != len(b):
            differing.append(f"{path}: {len(a)} values before, {len(b)} now")
        for i, (x, y) in enumerate(zip(a, b, strict=False)):
            apart = _apart(x, _coded(y))
            largest = max(largest, apart) if math.isfinite(apart) else largest
            if apart <= tolerance * max(1.0, abs(x) if isinstance(x, float | int) else 1.0):
                equal += 1
            else:
                differing.append(f"{path}, value {i + 1} of {len(a)}: {x} before, {_said(y)} now")
    for path in dict.fromkeys([*before.counts, *now.counts]):
        if before.counts.get(path) != now.counts.get(path):
            notes.append(f"{path}: {before.counts.get(path, 0):,} counted before, {now.counts.get(path, 0):,} now")
    return Compared(part, values, equal, largest, differing, notes)


def _numbers(leaves: Sequence[Any]) -> list[Any]:
    return [leaf for leaf in leaves if isinstance(leaf, float | int) and not isinstance(leaf, bool)]


def _renamed(old: Columns, new: Columns) -> list[tuple[str, str]]:
    """Give columns that only have another name now their old one, and return both names."""
    gone = {path: [_coded(x) for x in leaves] for path, leaves in old.items() if path not in new}
    found = []
    for path in [p for p in new if p not in old]:
        coded = [_coded(x) for x in new[path]]
        if (was := next((name for name, leaves in gone.items() if leaves == coded), None)) is not None:
            del gone[was]
            new[was] = new.pop(path)
            found.append((was, path))
    return found


def _apart(a: Any, b: Any) -> float:
    """Return the difference of two numbers, 0 for other equal leaves, inf for different ones."""
    if isinstance(a, bool | str | None) or isinstance(b, bool | str | None):
        return 0.0 if type(_coded(a)) is type(b) and _coded(a) == b else math.inf
    return float(abs(a - b))


def _said(leaf: Any) -> str:
    return f"{_coded(leaf)} ({leaf[:100]!r})" if isinstance(leaf, str) else repr(leaf)


def table(rows: Sequence[Compared], say: Callable[[str], object] = print) -> bool:
    """Say the comparison as a table, then what differs; return whether everything is equal."""
    width = max([len(r.part) for r in rows] + [4])
    say(f"{'part':<{width}}  {'values':>8}  {'equal':>8}  largest difference")
    for r in rows:
        note = "" if r.equal == r.values and not r.differing else "  DIFFERS"
        say(f"{r.part:<{width}}  {r.values:>8,}  {r.equal:>8,}  {r.largest:.1e}{note}")
    for r in rows:
        for line in r.differing[:SHOWN]:
            say(f"{r.part} · {line}")
        if len(r.differing) > SHOWN:
            say(f"{r.part} · and {len(r.differing) - SHOWN:,} more")
        for line in r.notes:
            say(f"{r.part} · no difference: {line}")
    good = not any(r.differing for r in rows)
    values, equal = sum(r.values for r in rows), sum(r.equal for r in rows)
    say(
        f"{equal:,} of {values:,} values are equal"
        + ("" if good else f"; {sum(bool(r.differing) for r in rows)} parts differ")
    )
    return good
