"""Read cases of errors: adversarial suites, and pairs of a good and a perturbed output.

Pairs, with one error per pair, measure the sensitivity of metrics.
Tables (CSV, TSV, JSONL, also `.gz`) have the columns type, reference, good, perturbed, and optionally source and id. Other usual names
are recognised, among them those of three released suites:

- DEMETR (Karpinska et al. 2022), 35 files, each one JSON list of records: `id`, `src_sent`, `eng_sent` (the reference), `mt_sent`
  (good), `pert_sent` (perturbed), `lang_tag`, `data_source`, `pert_check`, `severity`, `pert_id`, `pert_desc`, `pert_name` (the
  type). If `pert_check` is false, the perturbation did not apply and `pert_sent` repeats `mt_sent`: such records are left out and
  counted.
- MENLI (Chen and Eger 2023): `error`, `source`, `ref`, `hyp_para` (good), `hyp_adv_based` (perturbed, made from `ref`).
- ACES (Amrhein et al. 2022): `phenomena`, `source`, `reference`, `good-translation`, `incorrect-translation`.

Each case of an adversarial suite has an anchor, a text that a metric should prefer, and a text with an error.
MENLI's suites (Chen and Eger 2023, section 3) are CSV, also `.gz`, with the columns `error`, `id`, `source`, `ref`, `r`, `hyp_para`,
`hyp_adv_based`, `hyp_adv_free`, and optionally `hyp_para_fixed`, `hyp_adv_based_fixed`. Equation 1:

- reference-based  m(ref, hyp_para) > m(ref, hyp_adv_based), the adversarial text made from ref;
- reference-free   m(source, ref) > m(source, hyp_adv_free), the adversarial text made from r, a close translation of the source.

The `_fixed` columns, added later, correct blanks and case that revealed the adversarial text. Other files of pairs
(DEMETR, ACES, your own) are read as reference-based cases: good against perturbed.

A CSV file whose columns are exactly `COLUMNS` is read as one that this program wrote (`core.formats.parsing.cells`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from core.data import Item
from core.errors import ImportProblems, Problem, UserError
from core.formats.columns import plain, roles_of
from core.formats.files import Upload
from core.formats.parsing.cells import CellReader, FileTable, TableRow
from core.formats.problems import Collector, shown
from core.formats.table import read_table
from core.formatting import format_count

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
            notes.append(f"{format_count(self.left_out, 'record')} marked as not perturbed (pert_check) left out.")
        if self.equal:
            notes.append(f"{format_count(self.equal, 'pair')} with two equal texts: included with z = 0.")
        return notes


def read_pairs(uploads: Sequence[Upload]) -> PerturbedPairs:
    """Read the pairs of all files.

    Raises `ImportProblems` with every problem: unreadable files, missing columns, missing texts, no pairs.
    """
    problems, read = Collector(), list[PerturbedPairs]()
    for upload in uploads:
        try:
            read.append(_pairs_in(read_table(upload), problems))
        except ImportProblems as error:
            problems.extend(error.problems)
    pairs = tuple(pair for of_file in read for pair in of_file.pairs)
    _check(problems, uploads, pairs)
    return PerturbedPairs(pairs, sum(of_file.left_out for of_file in read))


def _pairs_in(table: FileTable, problems: Collector) -> PerturbedPairs:
    reader, (roles, references) = CellReader(table, problems), _columns(table)
    pairs = tuple(
        _pair(reader, row, roles, references) for row in table.rows if _applies(reader, row, roles.get("applies"))
    )
    return PerturbedPairs(pairs, len(table.rows) - len(pairs))


def _check(problems: Collector, uploads: Sequence[Upload], read: Sequence[PerturbedPair]) -> None:
    """Raise `ImportProblems` if there are problems, or nothing was read."""
    if not read and not problems:
        name = ", ".join(u.name for u in uploads)
        problems.add(name, 0, "", "no perturbed pair", "at least one", "Check the column pert_check")
    problems.check()


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
        got = f"only the columns {shown(', '.join(table.columns), 200)}"
        todo = "Rename the column"
        raise ImportProblems(
            [Problem(table.name, 0, role, got, f"a column {' or '.join(n[:3])}", todo) for role, n in lacking.items()]
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


TYPES: dict[str, str] = {
    "add": "addition", "drop": "omission", "name": "name error", "neg": "negation", "num": "number error",
    "pron": "pronoun error", "word_JJ": "adjective mismatch", "word_NN": "noun mismatch", "word_VB": "verb mismatch",
    "typo": "spelling error", "jumble": "jumbled words", "subject_verb_dis": "subject–verb disagreement",
}  # fmt: skip
"""The phenomena by their names in the files, in the order of the authors' script; the last three are about fluency."""
_OURS = {
    "number": "number error", "pronoun": "pronoun error", "adjective": "adjective mismatch", "noun": "noun mismatch",
    "verb": "verb mismatch", "agreement": "subject–verb disagreement",
}  # fmt: skip
"""Names of this program's perturbations (`core.perturbations`) that differ."""
FLUENCY = frozenset(list(TYPES.values())[-3:])
COLUMNS = ("error", "id", "source", "ref", "r", "hyp_para", "hyp_adv_based", "hyp_adv_free")
"""The columns of suites written by this program, in order; the published file also has the two `_fixed` columns."""
_MARK = "hypadvbased"


class AdversarialCase(NamedTuple):
    """Two items with the same anchor; a good metric scores `good` better than `bad`."""

    phenomenon: str
    id: str
    good: Item
    bad: Item


class Cases(NamedTuple):
    """The cases in the order of the files, with notes on irregularities."""

    cases: tuple[AdversarialCase, ...]
    notes: tuple[str, ...]


def read_cases(uploads: Sequence[Upload], *, reference_free: bool = False, fixed: bool = False) -> Cases:
    """Read the cases of all files. Raises `ImportProblems` as `read_pairs` does, `UserError` for a file without such cases."""
    problems, cases, notes = Collector(), list[AdversarialCase](), list[str]()
    for upload in uploads:
        table = read_table(upload)
        if _MARK in map(plain, table.columns):
            cases += _menli(table, reference_free, fixed, problems)
        elif reference_free or fixed:
            column = "hyp_adv_free" if reference_free else "hyp_adv_based_fixed"
            raise UserError(
                "no such cases: only MENLI's files have them", where=upload.name, expected=f"a column {column}"
            )
        else:
            read = _pairs_in(table, problems)
            _check(problems, [upload], read.pairs)
            notes += read.notes()
            for p in read.pairs:
                good, bad = (Item(p.source, text, p.references) for text in (p.good, p.perturbed))
                cases.append(AdversarialCase(phenomenon(p.type), p.id, good, bad))
    problems.check()
    return Cases(tuple(cases), (*notes, *_odd(cases)))


def phenomenon(name: str) -> str:
    """Return the phenomenon for the name of an error type in a file; names unknown to MENLI are returned unchanged."""
    return TYPES.get(name) or _OURS.get(name, name)


def _menli(table: FileTable, free: bool, fixed: bool, problems: Collector) -> list[AdversarialCase]:
    reader, by_name = CellReader(table, problems), {plain(c): c for c in table.columns}
    good, bad = ("ref", "hypadvfree") if free else ("hyppara", _MARK)
    if fixed and not free:
        good, bad = good + "fixed", bad + "fixed"
    needed = ("error", "ref", good, bad, *(("source",) if free else ()))
    for name in needed:
        if name not in by_name:
            problems.add(table.name, 0, name, "no such column", f"the columns {', '.join(needed)}", "Add it")
    problems.check()
    cases = []
    for row in table.rows:
        texts = {name: reader.needed(row, by_name[name]) for name in needed}
        source = (texts["source"] if free else reader.text(row, by_name.get("source"))) or None
        items = (Item(source, texts[name], () if free else (texts["ref"],)) for name in (good, bad))
        cases.append(AdversarialCase(phenomenon(texts["error"]), reader.text(row, by_name.get("id")) or "", *items))
    return cases


def _odd(cases: Sequence[AdversarialCase]) -> list[str]:
    notes = []
    if equal := sum(c.good == c.bad for c in cases):
        notes.append(f"{format_count(equal, 'case')} with two equal texts: no metric can get them right.")
    copies = Counter(c.phenomenon for c in cases if c.bad.hypothesis in c.bad.references and c.good != c.bad)
    if copies:
        named = ", ".join(f"{name} {n}" for name, n in copies.most_common())
        notes.append(
            f"{format_count(copies.total(), 'case')} whose adversarial text equals the reference ({named}): it has no error, and a metric "
            "that prefers the copy of the reference is counted as wrong."
        )
    return notes
