"""Read pairs of a good and a perturbed output with one error per pair, to measure the sensitivity of metrics.

Tables (CSV, TSV, JSONL, also `.gz`) have the columns type, reference, good, perturbed, and optionally source and id. Other usual names
are recognised, among them those of three released suites:

- DEMETR (Karpinska et al. 2022), 35 files, each one JSON list of records: `id`, `src_sent`, `eng_sent` (the reference), `mt_sent`
  (good), `pert_sent` (perturbed), `lang_tag`, `data_source`, `pert_check`, `severity`, `pert_id`, `pert_desc`, `pert_name` (the
  type). If `pert_check` is false, the perturbation did not apply and `pert_sent` repeats `mt_sent`: such records are left out and
  counted.
- MENLI (Chen and Eger 2023): `error`, `source`, `ref`, `hyp_para` (good), `hyp_adv_based` (perturbed, made from `ref`).
- ACES (Amrhein et al. 2022): `phenomena`, `source`, `reference`, `good-translation`, `incorrect-translation`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from core.errors import ImportProblems, Problem
from core.formats.columns import plain, roles_of
from core.formats.files import Upload
from core.formats.parsing.cells import FileTable, TableRow
from core.formats.problems import Collector, counted, shown
from core.formats.reader import CellReader
from core.formats.table import read_table

_NAMES: dict[str, list[str]] = {
    "type": "type errortype error pertname perturbation perturbationtype phenomenon phenomena category kind".split(),
    "good": (
        "good mtsent hyppara goodtranslation goodoutput goodhypothesis unperturbed hypothesis "
        "hyp output mt translation candidate"
    ).split(),
    "perturbed": (
        "perturbed pertsent hypadvbased incorrecttranslation perturbedoutput perturbedhypothesis "
        "perturbedtranslation incorrect bad badtranslation corrupted adversarial"
    ).split(),
    "source": "source src srcsent sourcetext input".split(),
    "id": "id pairid itemid segmentid segid".split(),
    "applies": ["pertcheck"],
}
_REFERENCE = re.compile(r"(ref|refs|reference|references|engsent|humantranslation)\d*")
_NEEDED = ("type", "good", "perturbed")


class PerturbedPair(NamedTuple):
    """A good output and a copy with one error; empty source and reference cells are omitted."""

    type: str
    references: tuple[str, ...]
    good: str
    perturbed: str
    source: str | None = None
    id: str = ""


class PerturbedPairs(NamedTuple):
    """The pairs in the order of the files. `left_out` counts records that their file marks as not perturbed; `equal` counts pairs with two
    equal texts, which are kept with z = 0."""

    pairs: tuple[PerturbedPair, ...]
    left_out: int = 0

    @property
    def equal(self) -> int:
        return sum(p.good == p.perturbed for p in self.pairs)

    def notes(self) -> list[str]:
        notes = []
        if self.left_out:
            notes.append(f"{counted(self.left_out, 'record')} marked as not perturbed (pert_check) left out.")
        if self.equal:
            notes.append(f"{counted(self.equal, 'pair')} with two equal texts: included with z = 0.")
        return notes


def read_pairs(uploads: Sequence[Upload]) -> PerturbedPairs:
    """Read the pairs of all files.

    Raises `ImportProblems` with every problem: unreadable files, missing columns, missing texts, no pairs.
    """
    problems = Collector()
    pairs: list[PerturbedPair] = []
    left_out = 0
    for upload in uploads:
        try:
            table = read_table(upload)
            reader = CellReader(table, problems)
            roles, references = _columns(table)
        except ImportProblems as error:
            problems.extend(error.problems)
            continue
        for row in table.rows:
            if _applies(reader, row, roles.get("applies")):
                pairs.append(_pair(reader, row, roles, references))
            else:
                left_out += 1
    if not pairs and not problems:
        name = ", ".join(u.name for u in uploads)
        problems.add(name, 0, "", "no perturbed pair", "at least one", "Check the column pert_check")
    problems.check()
    return PerturbedPairs(tuple(pairs), left_out)


def _columns(table: FileTable) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the columns by role, and those with references. Raises `ImportProblems` naming each role without a column.

    Without a reference column there must be a source column (for metrics that need no reference).
    """
    roles = roles_of(table.columns, _NAMES)
    references = tuple(c for c in table.columns if _REFERENCE.fullmatch(plain(c)))
    lacking = {role: _NAMES[role] for role in _NEEDED if role not in roles}
    if not references and "source" not in roles:
        lacking["reference"] = ["reference", "ref", "eng_sent"]
    if lacking:
        there = f"only the columns {shown(', '.join(table.columns), 200)}"
        todo = "Rename the column"
        raise ImportProblems(
            [Problem(table.name, 0, role, there, f"a column {' or '.join(n[:3])}", todo) for role, n in lacking.items()]
        )
    return roles, references


def _applies(reader: CellReader, row: TableRow, column: str | None) -> bool:
    said = (reader.text(row, column) or "true").strip().lower()
    if said not in ("true", "false"):
        reader.problem(row, column or "", shown(said), "true or false", "Correct the cell")
    return said != "false"


def _pair(reader: CellReader, row: TableRow, roles: Mapping[str, str], references: tuple[str, ...]) -> PerturbedPair:
    return PerturbedPair(
        reader.needed(row, roles["type"]),
        reader.references(row, references),
        reader.needed(row, roles["good"], may_be_empty=True),
        reader.needed(row, roles["perturbed"], may_be_empty=True),
        reader.text(row, roles.get("source")) or None,
        reader.text(row, roles.get("id")) or "",
    )
