"""Read adversarial suites: each case has an anchor, a text that a metric should prefer, and a text with an error.

MENLI's suites (Chen and Eger 2023, section 3) are CSV, also `.gz`, with the columns `error`, `id`, `source`, `ref`, `r`, `hyp_para`,
`hyp_adv_based`, `hyp_adv_free`, and optionally `hyp_para_fixed`, `hyp_adv_based_fixed`. Equation 1:

- reference-based  m(ref, hyp_para) > m(ref, hyp_adv_based), the adversarial text made from ref;
- reference-free   m(source, ref) > m(source, hyp_adv_free), the adversarial text made from r, a close translation of the source.

The `_fixed` columns, added later, correct blanks and case that revealed the adversarial text. Other files of pairs
(`core.formats.pairs`: DEMETR, ACES, your own) are read as reference-based cases: good against perturbed.

A CSV file whose columns are exactly `COLUMNS` is read as one that this program wrote (`core.formats.parsing.formula`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from core.data import Item
from core.errors import ImportProblems, UserError
from core.formats.files import Upload
from core.formats.pairs import read_pairs
from core.formats.parsing.cells import FileTable
from core.formats.problems import Collector, counted
from core.formats.reader import CellReader
from core.formats.table import read_table

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
    """Read the cases of all files. Raises `ImportProblems` for missing cells, `UserError` for a file without such cases."""
    problems, cases, notes = Collector(), list[AdversarialCase](), list[str]()
    for upload in uploads:
        if table := _menli_table(upload):
            cases += _menli(table, reference_free, fixed, problems)
        elif reference_free or fixed:
            wanted = "hyp_adv_free" if reference_free else "hyp_adv_based_fixed"
            raise UserError(
                "no such cases: only MENLI's files have them", where=upload.name, expected=f"a column {wanted}"
            )
        else:
            read = read_pairs([upload])
            notes += read.notes()
            for p in read.pairs:
                good, bad = (Item(p.source, text, p.references) for text in (p.good, p.perturbed))
                cases.append(AdversarialCase(phenomenon(p.type), p.id, good, bad))
    problems.check()
    return Cases(tuple(cases), (*notes, *_odd(cases)))


def phenomenon(name: str) -> str:
    """Return the phenomenon for the name of an error type in a file; names unknown to MENLI are returned unchanged."""
    return TYPES.get(name) or _OURS.get(name, name)


def _menli_table(upload: Upload) -> FileTable | None:
    try:
        table = read_table(upload)
    except ImportProblems:
        return None  # `read_pairs` says what is wrong with it, or reads it as JSON
    return table if _MARK in {_plain(c) for c in table.columns} else None


def _plain(column: str) -> str:
    return column.lower().replace("_", "").strip()


def _menli(table: FileTable, free: bool, fixed: bool, problems: Collector) -> list[AdversarialCase]:
    reader, by_name = CellReader(table, problems), {_plain(c): c for c in table.columns}
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
        notes.append(f"{counted(equal, 'case')} with two equal texts: no metric can get them right.")
    copies = Counter(c.phenomenon for c in cases if c.bad.hypothesis in c.bad.references and c.good != c.bad)
    if copies:
        named = ", ".join(f"{name} {n}" for name, n in copies.most_common())
        notes.append(
            f"{counted(copies.total(), 'case')} whose adversarial text equals the reference ({named}): it has no error, and a metric "
            "that prefers the copy of the reference is counted as wrong."
        )
    return notes
