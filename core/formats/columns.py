"""Guess which column holds what, from its name and its cells; any column can also be mapped by hand."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from core.formats.column_facts import (
    GENERIC,
    IDS,
    LOOK,
    ColumnFacts,
    counts_rows,
    differ_in_number,
    facts_of,
    has_name_of_a_score,
    is_nameless,
    numbers_outputs,
    role_by_words,
    scores_of_systems,
)
from core.formats.external import looks_like_a_metric, lower_is_better
from core.formats.files import stem
from core.formats.mapping import ColumnMapping, MetricColumn, SystemScoreColumn
from core.formats.parsing.cells import FileTable
from core.formats.role_names import words_of

_NAMES: dict[str, list[str]] = {
    "document": "docid documentid doc document docname documentname".split(),
    "segment": (
        "segmentid segid segment seg sentenceid sentid itemid item lineid linenumber line id index idx".split()
    ),
    "source": "source src input sourcetext srctext inputtext article original".split(),
    "system": "system sys systemid systemname sysid sysname model modelid modelname".split(),
    "output": (
        "output hypothesis hyp mt translation summary candidate prediction pred generated "
        "generation response systemoutput outputtext decoded outputs"
    ).split(),
}
_REFERENCE = re.compile(r"(ref|refs|reference|references|goldreference|humanreference|gold)(\d+|[a-z])?")
_NEVER_A_SYSTEM = frozenset(
    "lang language langpair lp srclang tgtlang trglang sourcelang targetlang domain comment comments note notes rater annotator date time "
    "timestamp task dataset split url error errors category severity metadata topic genre seed prompt reason status signature "
    "metric label labels side start end quote verdict submitted".split()
)
_NAMES_OF_SCORES = frozenset("metric metrics criterion criteria aspect dimension".split())
_LONG_TEXT = 100
_NUMBERED = re.compile(r"\d")
JUDGED = "judged by its cells"
_FACT, _RATER = "named like a fact about the row", "names the annotator; “Import labels” keeps annotators apart"
_OTHER_ID, _ROW_ID = "a further ID", "numbers the rows: other systems have the same texts under other IDs"
_INDEX = "an index of the rows"
_SEVERAL = "one of several systems in each row: a table has one row per system"
_LEFT_OVER = {
    "number": "numbers that are not recognised as scores of one system", "mixed": "numbers whose name says no system",
    "empty": "no cell filled in the rows that were looked at", "other": "several values in a cell",
    "texts": "lists of texts, which only references may be",
}  # fmt: skip
_UNKNOWN = "neither its name nor its cells say what it holds"
MQM_COLUMNS = frozenset({"system", "doc", "source", "target", "category", "severity", "rater"})


def plain(name: str) -> str:
    """Return a column name for comparison: lower case, letters and digits only."""
    return "".join(filter(str.isalnum, name.casefold()))


def is_reference_name(name: str) -> bool:
    """Return whether a column has a usual name of references, such as `ref`, `reference2`, `refA`."""
    return _REFERENCE.fullmatch(plain(name)) is not None


def is_google_mqm(columns: Iterable[str]) -> bool:
    """Return whether this is the header of Google's MQM TSV (system doc doc_id seg_id rater source target category severity)."""
    names = {plain(c) for c in columns}
    return names >= MQM_COLUMNS and bool(names & {"segid", "docsegid", "globalsegid"})


def roles_of(columns: Iterable[str], names: Mapping[str, Iterable[str]] = _NAMES) -> dict[str, str]:
    """Return the columns whose role is known from their names; `names` are the names of each role, the best first."""
    by_name = _by_name(columns)
    known = {role: next((by_name[n] for n in usual if n in by_name), None) for role, usual in names.items()}
    return {role: column for role, column in known.items() if column is not None}


def named_roles(columns: Iterable[str]) -> dict[str, str]:
    """Return the columns whose role is known from their names together.

    In Google's files `doc` is the document and `doc_id` a place in it; beside a system, `target` is the output.
    """
    by_name = _by_name(columns)
    roles = roles_of(by_name.values())
    if {"doc", "docid", "segid"} <= by_name.keys():
        roles["document"] = by_name["doc"]
    target = by_name.get("target") or by_name.get("tgt")
    if target and "output" not in roles and "system" in roles:
        roles["output"] = target
    return roles


def _by_name(columns: Iterable[str]) -> dict[str, str]:
    return {plain(column): column for column in reversed(tuple(columns))}  # the first of equal names


class Guess(NamedTuple):
    """A mapping, the columns whose role was judged by their cells because their names do not say it, and the reasons for the roles of
    others: why columns are not used, or are read as in another file."""

    mapping: ColumnMapping
    by_content: tuple[str, ...] = ()
    reasons: Mapping[str, str] = MappingProxyType({})

    def with_(self, mapping: ColumnMapping, column: str, reason: str) -> Guess:
        """Return the guess with another mapping, and the reason for the role of a column."""
        return Guess(mapping, tuple(c for c in self.by_content if c != column), {**self.reasons, column: reason})

    def why(self, column: str) -> str:
        """Return why a column is read as it is, "" if its name says so."""
        return self.reasons.get(column) or (JUDGED if column in self.by_content else "")


def guess(table: FileTable) -> ColumnMapping:
    """Return the most likely mapping; see `guessed`."""
    return guessed(table).mapping


def guessed(table: FileTable) -> Guess:
    """Return the most likely mapping, by the usual names, then by the words of the names, then by the cells.

    Cells decide where names do not: a text that is the same for all outputs of a segment is its source or reference, one that
    differs from row to row is an output, a short text that repeats is a system, and so on. Other number columns are human scores,
    or external scores if they have the name of a metric (COMET, BLEURT, …). With outputs in one column (or a system column and
    scores) the layout is long; else it is wide, the other text columns are systems, and numbers with the name of a system are its scores. Without a system column all rows of a long
    table belong to one system, named after the file.
    """
    return _Guesser(table).result()


class _Guesser:
    """The roles found so far. Each step takes columns out of `left`, the columns without a role."""

    def __init__(self, table: FileTable) -> None:
        self.table, self.facts, self.n = table, facts_of(table), min(len(table.rows), LOOK)
        self.roles: dict[str, str] = {}
        self.references: list[str] = []
        self.systems: list[str] = []
        self.system_scores: tuple[SystemScoreColumn, ...] = ()
        self.by_content: list[str] = []
        self.unused: dict[str, str] = {}
        self.left = list(dict.fromkeys(table.columns))

    def result(self) -> Guess:
        self._by_name()
        self._by_words()
        for column in list(self.left):
            if counts_rows(column, self.facts[column]):
                self._take("unused", column, why=_INDEX)
        scores = [c for c in self.left if self.facts[c].is_number]
        self._by_cells()
        self._index_of_segments()
        named = plain(self.roles.get("system", "")) in _NAMES["system"] and any(map(has_name_of_a_score, scores))
        long = "output" in self.roles or ("system" in self.roles and bool(scores) and (named or not self.systems))
        mapping = ColumnMapping(
            layout="long" if long else "wide",
            document=self.roles.get("document"),
            segment=self.roles.get("segment"),
            source=self.roles.get("source"),
            references=tuple(c for c in self.table.columns if c in self.references),
            system_name=stem(self.table.name),
        )
        if long:
            scores = [c for c in scores if c in self.left]
            mapping = mapping.with_(
                system=self.roles.get("system"),
                output=self.roles.get("output"),
                human_scores=tuple(c for c in scores if not looks_like_a_metric(c)),
                metrics=tuple(MetricColumn(c, c, not lower_is_better(c)) for c in scores if looks_like_a_metric(c)),
            )
        else:
            systems = tuple(c for c in self.table.columns if c in self.systems)
            mapping = mapping.with_(systems=systems, system_scores=self.system_scores)
        used = mapping.columns()
        unused = {
            c: self.unused.get(c) or _LEFT_OVER.get(self.facts[c].kind, _UNKNOWN) for c in self.facts if c not in used
        }
        return Guess(mapping, tuple(c for c in self.by_content if c in used or c in self.unused), unused)

    def _take(self, role: str, column: str, *, by_content: bool = False, why: str = "") -> None:
        """Give a column a role, or take it out of the columns that may get one: role "unused", and `why`."""
        self.left.remove(column)
        if role == "references":
            self.references.append(column)
        elif role == "systems":
            self.systems.append(column)
        elif role == "unused":
            self.unused[column] = why
        else:
            self.roles[role] = column
        if by_content:
            self.by_content.append(column)

    def _by_name(self) -> None:
        """Give the usual names their roles, unless the cells contradict: a long text is no name of a document or a system."""
        nested = [c for c in self.table.columns if self.facts[c].kind == "other"]
        by_name = _by_name(self.table.columns)
        roles = roles_of(nested) | named_roles(c for c in self.table.columns if c not in nested)
        target = by_name.get("target") or by_name.get("tgt")
        for role, column in roles.items():
            facts = self.facts[column]
            long_text = facts.kind == "text" and facts.length > _LONG_TEXT
            if role in ("document", "segment", "system") and long_text:
                continue
            if role == "source" and facts.kind == "number" and plain(column) not in ("source", "src"):
                continue
            self._take(role, column)
        for column in list(self.left):
            if is_reference_name(column):
                self._take("references", column)
            elif plain(column) in _NEVER_A_SYSTEM:
                self._take("unused", column, why=_FACT)
            elif is_nameless(column) and self.facts[column].kind == "number":
                self._take("unused", column, why=_INDEX)
        if target in self.left and not self.references:
            self._take("references", target)

    def _by_words(self) -> None:
        claims: dict[str, list[str]] = {}
        for column in self.left:
            if role := role_by_words(column, self.facts[column].kind):
                claims.setdefault(role, []).append(column)
        scores = {c for c in self.left if self.facts[c].is_number}.difference(*claims.values())
        claimed = [c for c in claims.get("rater", ()) if self.facts[c].kind != "other"]
        of_raters = differ_in_number(c for c in claimed if self.facts[c].is_number)
        raters = [c for c in claimed if c not in of_raters and (scores or not self.facts[c].is_number)]
        for reason, columns in ((_FACT, claims.get("unused", ())), (_RATER, raters)):
            for column in columns:
                if self.facts[column].length <= _LONG_TEXT:
                    self._take("unused", column, why=reason)
        named = claims.get("system", [])
        outputs = [c for c in named if not self.facts[c].is_code and self.facts[c].distinct > max(2, self.n / 2)]
        for column in outputs if len(outputs) > 1 else ():
            self._take("systems", column)
        claims["system"] = [c for c in named if c not in outputs]
        numbered = [c for c in claims["system"] if _NUMBERED.search(c) and words_of(c)[-1] in IDS]
        if "system" not in self.roles and len(numbered) > 1:
            for column in claims.pop("system"):
                self._take("unused", column, why=_SEVERAL)
        for role in ("document", "segment", "system"):
            for column in claims.get(role, ()):
                if role not in self.roles:
                    self._take(role, column)
                elif self.facts[column].kind == "number":
                    self._take("unused", column, why=_OTHER_ID)
        for column in claims.get("references", ()):
            self._take("references", column)
        self._claimed_outputs(
            [*claims.get("system output", []), *(c for c in outputs if c in self.left)], claims.get("output", [])
        )
        if "output" in self.roles or "system" in self.roles:  # else it may be a system with the word in its name
            for column in claims.get("perhaps references", ()):
                self._take("references", column)
        for column in claims.get("target", ()):
            if "output" not in self.roles and "system" in self.roles:
                self._take("output", column)
            elif not self.references:
                self._take("references", column)
        sources = sorted(claims.get("source", ()), key=lambda c: -self.facts[c].length)
        for column in sources[: "source" not in self.roles]:
            self._take("source", column)
        for column in claims.get("text", ()):
            if free := next((r for r in ("output", "source") if r not in self.roles and not self.systems), None):
                self._take(free, column, by_content=True)
        if not self.references:
            for column in claims.get("human", ()):
                self._take("references", column, by_content=True)

    def _claimed_outputs(self, strong: list[str], weak: list[str]) -> None:
        """Take the output column. Several of them without a system column, or one named after a system, are a wide table."""
        claimed = strong or weak
        if not claimed or "output" in self.roles:
            return
        if "system" in self.roles or (len(claimed) == 1 and GENERIC.issuperset(words_of(claimed[0]))):
            self._take("output", max(claimed, key=lambda c: self.facts[c].distinct))
            return
        for column in [*strong, *weak]:
            self._take("systems", column)

    def _by_cells(self) -> None:
        """Give roles to columns whose names say nothing."""
        texts = [c for c in self.left if self.facts[c].kind == "text"]
        if "output" not in self.roles and "system" not in self.roles and not self.systems:
            self._unnamed_system(texts)
        if "output" not in self.roles and "system" in self.roles:
            self._unnamed_output(texts)
        texts = [c for c in texts if c in self.left]
        if "output" in self.roles:
            self._unnamed_segment_texts(texts)
            self._segment_code()
            self._document_or_segment()
        else:
            mixed = [c for c in self.left if self.facts[c].kind == "mixed" and not has_name_of_a_score(c)]
            self._wide([*texts, *mixed])

    def _unnamed_system(self, texts: list[str]) -> None:
        """A short text that repeats, beside a text that differs from row to row and one that repeats once per system."""
        for column in texts:
            facts = self.facts[column]
            counts = Counter(facts.cells)
            even = max(counts.values()) <= 1.5 * self.n / len(counts)
            if not (facts.length <= 40 and 2 <= facts.distinct <= self.n / 2 and even):
                continue
            others = [self.facts[c] for c in self.table.columns if c != column and self.facts[c].is_text]
            repeats = any(f.length > facts.length and 1 < f.distinct <= self.n / 2 for f in others)
            if repeats and any(f.length > facts.length and f.distinct > self.n / 2 for f in others):
                self._take("system", column, by_content=True)
                texts.remove(column)
                return

    def _unnamed_output(self, texts: list[str]) -> None:
        """The text that differs most from row to row; other texts are the same for all systems."""
        varying = [c for c in texts if self.facts[c].distinct > 1 and not self.facts[c].is_code]
        if varying:
            most = max(varying, key=lambda c: (self.facts[c].distinct, self.facts[c].length))
            self._take("output", most, by_content=True)
            return
        system, beside_texts = self.facts[self.roles["system"]], "source" in self.roles or self.references
        if beside_texts and system.distinct > max(2, self.n / 2) and not system.is_code:
            self.left.append(self.roles.pop("system"))
            self._take("output", self.left[-1], by_content=True)

    def _unnamed_segment_texts(self, texts: list[str]) -> None:
        """Texts that repeat with the segment: the longest is the source if there is none, the next the reference if there is none."""
        output = self.facts[self.roles["output"]]
        known = [self.facts[c] for role, c in self.roles.items() if role in ("segment", "source")]
        known += [self.facts[c] for c in self.references]
        several = "system" in self.roles and self.facts[self.roles["system"]].distinct > 1
        for column in sorted(texts, key=lambda c: -self.facts[c].length):
            facts = self.facts[column]
            same = all(facts.is_function_of(f) for f in known) if known else facts.distinct < output.distinct
            filled = sum(map(bool, facts.cells))
            if (
                facts.is_code
                or facts.distinct < 2
                or 2 * filled < self.n
                or not (same or not several)
                or 3 * facts.length < output.length
            ):
                continue
            if "source" not in self.roles:
                self._take("source", column, by_content=True)
            elif not self.references:
                self._take("references", column, by_content=True)

    def _segment_code(self) -> None:
        """A code or whole number that stands for the source (or reference) one to one is the ID of the segment."""
        text = self.roles.get("source") or next(iter(self.references), None)
        if text is None or "segment" in self.roles or "document" in self.roles or "system" not in self.roles:
            return
        of = self.facts[text]
        for column in self.left:
            facts = self.facts[column]
            whole = facts.kind == "text" or all("." not in cell for cell in facts.cells)
            if facts.is_code and whole and 1 < facts.distinct < len(facts.cells):
                if facts.is_function_of(of) and of.is_function_of(facts):
                    self._take("segment", column, by_content=True)
                    return

    def _index_of_segments(self) -> None:
        """A column without a name whose whole numbers repeat, each at most once for a system, has the IDs of the segments: pandas keeps the
        numbers of the rows when tables of systems are put together. Numbers that do not repeat are an index of the rows."""
        if "system" not in self.roles or {"segment", "document"} & self.roles.keys():
            return
        systems = self.facts[self.roles["system"]].cells
        for column in [c for c in self.unused if is_nameless(c)]:
            facts = self.facts[column]
            whole = facts.kind == "number" and all(cell.strip().isdecimal() for cell in facts.cells)
            if whole and facts.distinct < self.n == len(set(zip(systems, facts.cells, strict=True))):
                del self.unused[column]
                self.roles["segment"] = column
                self.by_content.append(column)
                return

    def _document_or_segment(self) -> None:
        """A document with one source, whose systems have one output each, is a segment, also if each was rated several times.

        A column with a name such as `id`, which differs for each output, is the ID of the row if most texts stand in rows of several systems.
        The ID of a segment is one whatever its cells are.
        """
        system, document, segment = (self.roles.get(role) for role in ("system", "document", "segment"))
        if system is None:
            return
        output, systems = self.facts[self.roles["output"]], self.facts[system]
        if segment is not None and numbers_outputs(self.facts[segment], systems, output):
            if IDS.issuperset(words_of(segment)) and self._shared_texts(systems):
                self.unused[self.roles.pop("segment")] = _ROW_ID
                self.by_content.append(segment)
                segment = None
        if document is not None and segment is None:
            pairs = list(zip(self.facts[document].cells, systems.cells, strict=True))
            if len(set(pairs)) < self.n and len(set(zip(pairs, output.cells, strict=True))) == len(set(pairs)):
                self.roles["segment"] = self.roles.pop("document")
                self.by_content.append(document)

    def _shared_texts(self, systems: ColumnFacts) -> bool:
        """Return whether most rows have a source and references that a row of another system has as well."""
        columns = [c for c in (self.roles.get("source"), *self.references) if c is not None]
        texts = list(zip(*(self.facts[c].cells for c in columns), strict=True)) or [()] * self.n
        of: dict[tuple[str, ...], set[str]] = {}
        for text, system in zip(texts, systems.cells, strict=True):
            of.setdefault(text, set()).add(system)
        return bool(columns) and 2 * sum(len(of[text]) > 1 for text in texts if any(text)) > self.n

    def _wide(self, texts: list[str]) -> None:
        """Text columns are systems, except codes, facts that hardly change, and one text much longer than the others (the source)."""
        longest = max((self.facts[c].length for c in [*texts, *self.systems]), default=0)
        for column in list(texts):
            facts = self.facts[column]
            if self.n < 3 or not (facts.is_code and 3 * facts.length < longest):
                continue
            if facts.distinct == self.n and "segment" not in self.roles:
                self._take("segment", column, by_content=True)
            else:
                self._take("unused", column, why=_OTHER_ID)
            texts.remove(column)
        if "source" not in self.roles and len(texts) + len(self.systems) > 2:
            *_, second, first = sorted([*texts, *self.systems], key=lambda c: self.facts[c].length)
            if first in texts and self.facts[first].length > 3 * self.facts[second].length:
                self._take("source", first, by_content=True)
                texts.remove(first)
        for column in [c for c in texts if self.facts[c].kind != "mixed"]:
            self._take("systems", column)
        numbers = [c for c in self.left if self.facts[c].is_number]
        if any(plain(c) in _NAMES_OF_SCORES for c in self.table.columns):
            numbers = []  # each row has scores of the metric or criterion that this column names
        self.system_scores = scores_of_systems(numbers, self.systems)
        scores = {score.column for score in self.system_scores}
        for column in [c for c in texts if c in self.left and c not in scores]:
            self._take("systems", column)
