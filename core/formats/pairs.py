"""Pairs of a good and a perturbed output, one error a pair: what a metric's sensitivity is measured on.

Tables (CSV, TSV, JSONL, also `.gz`) with the columns type, reference, good, perturbed, and where there are any source and id.
Other usual names are recognised, among them those of three released suites:

- DEMETR (Karpinska et al. 2022), 35 files, each one JSON list of records: `id`, `src_sent`, `eng_sent` (the reference), `mt_sent`
  (good), `pert_sent` (perturbed), `lang_tag`, `data_source`, `pert_check`, `severity`, `pert_id`, `pert_desc`, `pert_name` (the
  type). Where `pert_check` is false the perturbation did not apply and `pert_sent` repeats `mt_sent`: such records are left
  out and counted.
- MENLI (Chen and Eger 2023): `error`, `source`, `ref`, `hyp_para` (good), `hyp_adv_based` (perturbed, made from `ref`).
- ACES (Amrhein et al. 2022): `phenomena`, `source`, `reference`, `good-translation`, `incorrect-translation`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from core.errors import ImportProblems, Problem
from core.formats.cells import Row, Table
from core.formats.columns import plain
from core.formats.files import Upload, extension, text_bytes
from core.formats.json_list import is_list
from core.formats.jsonl import read_list
from core.formats.problems import Collector, counted, shown
from core.formats.reader import CellReader
from core.formats.table import read_table, with_rows

_NAMES: dict[str, tuple[str, ...]] = {
    "type": (
        *("type", "errortype", "error", "pertname", "perturbation", "perturbationtype", "phenomenon", "phenomena"),
        *("category", "kind"),
    ),
    "good": (
        *("good", "mtsent", "hyppara", "goodtranslation", "goodoutput", "goodhypothesis", "unperturbed", "hypothesis"),
        *("hyp", "output", "mt", "translation", "candidate"),
    ),
    "perturbed": (
        *("perturbed", "pertsent", "hypadvbased", "incorrecttranslation", "perturbedoutput", "perturbedhypothesis"),
        *("perturbedtranslation", "incorrect", "bad", "badtranslation", "corrupted", "adversarial"),
    ),
    "source": ("source", "src", "srcsent", "sourcetext", "input"),
    "id": ("id", "pairid", "itemid", "segmentid", "segid"),
    "applies": ("pertcheck",),
}
_REFERENCE = re.compile(r"(ref|refs|reference|references|engsent|humantranslation)\d*")
_NEEDED = ("type", "good", "perturbed")


class Pair(NamedTuple):
    """A good output and the same with one error; an empty source or reference cell means that there is none."""

    type: str
    references: tuple[str, ...]
    good: str
    perturbed: str
    source: str | None = None
    id: str = ""


class Pairs(NamedTuple):
    """The pairs in the order of the files; `left_out` counts records their file marks as not perturbed, `equal` the pairs
    whose two texts are the same all the same (they stay, with z = 0)."""

    pairs: tuple[Pair, ...]
    left_out: int = 0

    @property
    def equal(self) -> int:
        return sum(p.good == p.perturbed for p in self.pairs)

    def notes(self) -> list[str]:
        """What is odd about them, in words."""
        notes = []
        if self.left_out:
            notes.append(f"{counted(self.left_out, 'record')} marked as not perturbed (pert_check) left out.")
        if self.equal:
            notes.append(f"{counted(self.equal, 'pair')} with the same text twice: z is 0 there, and counts.")
        return notes


class PairColumns(NamedTuple):
    """Column names by role."""

    type: str
    good: str
    perturbed: str
    references: tuple[str, ...]
    source: str | None = None
    id: str | None = None
    applies: str | None = None


def read_pairs(uploads: Sequence[Upload]) -> Pairs:
    """The pairs of all files together.

    Raises `ImportProblems` with every problem of every file: a file that cannot be read, a column that is missing, a text
    that is missing, no pair at all.
    """
    problems = Collector()
    pairs: list[Pair] = []
    left_out = 0
    for upload in uploads:
        try:
            table = _read(upload)
            columns = guess(table)
        except ImportProblems as error:
            problems.extend(error.problems)
            continue
        reader = CellReader(table, problems)
        for row in table.rows:
            if _applies(reader, row, columns.applies):
                pairs.append(_pair(reader, row, columns))
            else:
                left_out += 1
    if not pairs and not problems:
        name = ", ".join(u.name for u in uploads)
        problems.add(name, 0, "", "no pair that was perturbed", "at least one", "Check the column pert_check")
    problems.check()
    return Pairs(tuple(pairs), left_out)


def guess(table: Table) -> PairColumns:
    """The columns by their names. Raises `ImportProblems` naming each role that no column has.

    Without a reference column there must be a source column (metrics that need no reference).
    """
    by_name: dict[str, str] = {}
    for column in table.columns:
        by_name.setdefault(plain(column), column)
    roles = {role: next((by_name[n] for n in names if n in by_name), None) for role, names in _NAMES.items()}
    references = tuple(c for c in table.columns if _REFERENCE.fullmatch(plain(c)))
    lacking = {role: _NAMES[role] for role in _NEEDED if roles[role] is None}
    if not references and roles["source"] is None:
        lacking["reference"] = ("reference", "ref", "eng_sent")
    kind, good, perturbed = (roles[role] for role in _NEEDED)
    if lacking or kind is None or good is None or perturbed is None:
        there = f"only the columns {shown(', '.join(table.columns), 200)}"
        todo = "Rename the column"
        raise ImportProblems(
            [Problem(table.name, 0, role, there, f"a column {' or '.join(n[:3])}", todo) for role, n in lacking.items()]
        )
    return PairColumns(kind, good, perturbed, references, roles["source"], roles["id"], roles["applies"])


def _applies(reader: CellReader, row: Row, column: str | None) -> bool:
    said = (reader.text(row, column) or "true").strip().lower()
    if said not in ("true", "false"):
        reader.problems.add(reader.file, row.line, column or "", shown(said), "true or false", "Correct the cell")
    return said != "false"


def _pair(reader: CellReader, row: Row, columns: PairColumns) -> Pair:
    def needed(column: str, *, empty: bool) -> str:
        text = reader.text(row, column)
        if reader.cell(row, column) is None or (text == "" and not empty):
            reader.problems.add(reader.file, row.line, column, "nothing", "a text", "Fill it in, or remove the row")
        return text or ""

    return Pair(
        needed(columns.type, empty=False),
        reader.references(row, columns.references),
        needed(columns.good, empty=True),
        needed(columns.perturbed, empty=True),
        reader.text(row, columns.source) or None,
        reader.text(row, columns.id) or "",
    )


def _read(upload: Upload) -> Table:
    if extension(upload.name) == "json" and is_list(data := text_bytes(upload, by_line=False)):
        return with_rows(read_list(upload.name, data))
    return read_table(upload)
