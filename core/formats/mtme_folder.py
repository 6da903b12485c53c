"""The files of a language pair in mt-metrics-eval's layout: texts, documents, human scores, error spans and metric scores.

The layout (README of mt-metrics-eval): `sources/LP.txt`, `references/LP.NAME.txt`, `system-outputs/LP/NAME.txt`, `documents/LP.docs`,
`human-scores/LP.NAME.LEVEL.score`, `human-scores/LP.NAME.seg.rating`, `metric-scores/LP/NAME-REF.LEVEL.score`. REF names the references
that a metric used: `refA`, `refA.refB`, `all`, or `src` for none. Texts may also be JSON Lines, and every file may be gzipped. Files
without their folders are recognised by their names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from core.errors import ImportProblems, Problem, UserError, unknown
from core.formats.external import file_of_a_metric
from core.formats.files import Upload, base_name, extension, path_name
from core.formats.given_roles import GivenRoles, files_as_read
from core.formats.mapping import LineRoles
from core.formats.role_names import MTME_FOLDERS, MtmeName, mtme_name, mtme_name_without_folder
from core.formatting import format_count

SHOWN = 12
_TEXTS = ("source", "reference", "system", "document")
_SCORES = ("score", "rating")


class ScoreFile(NamedTuple):
    """A file of human or metric scores, or of error spans: its file, the name of the scores, and the references that a metric used."""

    file: str
    name: str
    references: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MtmeFiles:
    """The files of a language pair by what they hold. `unread` are files that are not read, each with the reason.

    `human`, `spans` and `metrics` have one value or rating per output; `human_systems` and `metric_systems` one score per system.
    `reference_names` are those of the files in `references`.
    """

    pair: str
    roles: LineRoles
    human: tuple[ScoreFile, ...] = ()
    spans: tuple[ScoreFile, ...] = ()
    metrics: tuple[ScoreFile, ...] = ()
    human_systems: tuple[ScoreFile, ...] = ()
    metric_systems: tuple[ScoreFile, ...] = ()
    reference_names: tuple[str, ...] = ()
    unread: tuple[tuple[str, str], ...] = ()

    @property
    def reference_systems(self) -> tuple[str, ...]:
        """The systems whose outputs are references, by a file of references or the name of a metric that used them."""
        used = {*self.reference_names, *(r for m in (*self.metrics, *self.metric_systems) for r in m.references)}
        return tuple(system for _, system in self.roles.systems if system in used)

    @property
    def title(self) -> str:
        """The name of the test set, if a path says it, and the language pair: `wmt23 en-de`."""
        *_, folder, layout, _pair, _file = ["", "", "", "", *self.roles.systems[0][0].replace("\\", "/").split("/")]
        return f"{folder if layout in MTME_FOLDERS else ''} {self.pair}".strip()

    def with_roles(self, given_roles: GivenRoles) -> MtmeFiles:
        """Return the files with roles that a person gives to text files."""
        return replace(self, roles=given_roles.of_files(self.roles))

    def as_read(self) -> list[str]:
        """Return how the files are read, as lines: a heading, and what each file is."""
        _, *texts = files_as_read(self.roles)
        heading = f"How the files of {self.pair} were read (--column ROLE=FILE changes the roles of text files):"
        return [heading, *texts, *(f"  {what}: {names}" for what, names in self.scores_as_read())]

    def scores_as_read(self) -> list[tuple[str, str]]:
        """Return what the files beside the texts are, with their names, and which are not read."""
        of = {
            "human score": self.human,
            "error spans": self.spans,
            "metric": self.metrics,
            "human score of systems": self.human_systems,
            "metric score of systems": self.metric_systems,
        }
        descriptions = [(what, ", ".join(f.name for f in files)) for what, files in of.items() if files]
        for reason in dict.fromkeys(reason for _, reason in self.unread):
            names = [file for file, why in self.unread if why == reason]
            more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
            descriptions.append(("not read", f"{', '.join(names[:SHOWN])}{more} ({reason})"))
        return descriptions


def stored_files(folder: Path) -> list[Upload]:
    """Return the files of a folder that may belong to the layout, by their paths in it: its own, and those in the folders of the layout.

    Raises `UserError` for a folder without texts of a language pair, such as the one above the test sets.
    """
    if not folder.is_dir():
        hint = "Name the folder of a test set, with sources and system-outputs"
        raise UserError("this is no folder", where=str(folder), hint=hint)
    paths = [p for level in ("*", "*/*", "*/*/*") for p in folder.glob(level) if p.is_file()]
    inside = [(p.relative_to(folder), p) for p in paths]
    in_layout = [Upload(path_name(at), p) for at, p in inside if len(at.parts) == 1 or at.parts[0] in MTME_FOLDERS]
    if not pairs_of(file.name for file in in_layout):
        sets = sorted(p.parent.name for p in folder.glob("*/system-outputs"))
        hint = f"Name one of the test sets in it: {', '.join(sets)}" if sets else "Check the folder"
        expected = "sources/en-de.txt, system-outputs/en-de/SYSTEM.txt and so on, as in mt-metrics-eval"
        raise UserError("the folder has no texts of a language pair", where=str(folder), expected=expected, hint=hint)
    return sorted(in_layout)


def chosen_pair(files: Sequence[Upload], pair: str | None, where: Path) -> MtmeFiles:
    """Return the files of a language pair; without `pair`, of the only one. Raises `UserError` and `ImportProblems`."""
    names = [file.name for file in files]
    pairs = pairs_of(names)
    if pair is None and len(pairs) > 1:
        raise UserError(
            "the folder has several language pairs", where=str(where), got=", ".join(pairs), expected="one",
            hint=f"Choose one: --pair {pairs[0]}",
        )  # fmt: skip
    if pair is not None and pair not in pairs:
        raise unknown("language pair of this folder,", pair, pairs)
    return files_of(names, pair or pairs[0])


def is_layout(names: Iterable[str]) -> bool:
    """Return whether files are a folder of mt-metrics-eval: outputs in its folders, or text files beside scores, error spans or documents
    in its formats."""
    names = list(names)
    if any(at.kind == "system" for name in names if (at := mtme_name(name))):
        return True
    kinds = {at.kind for name in names if (at := mtme_name_without_folder(base_name(name)))}
    of_scores = any(extension(name) in _SCORES for name in names)
    return (
        bool(kinds & {"source", "system", "reference"}) and (of_scores or "document" in kinds) and bool(pairs_of(names))
    )


def pairs_of(names: Iterable[str]) -> tuple[str, ...]:
    """Return the language pairs of the files in alphabetical order: those with outputs in their folders, else those that the folders of
    other texts name, else those of the names of files."""
    names = list(names)
    placed = [at for name in names if (at := mtme_name(name)) and at.kind in _TEXTS]
    with_outputs = {at.pair for at in placed if at.kind == "system"}
    if pairs := with_outputs or {at.pair for at in placed}:
        return tuple(sorted(pairs))
    said = [at for name in names if (at := mtme_name_without_folder(base_name(name))) and at.pair]
    for kinds in (("document",), ("source",), ("human", "rating", "reference")):
        if language_pairs := {at.pair for at in said if at.kind in kinds and not _is_metric(at)}:
            return tuple(sorted(language_pairs))
    return ()


def _is_metric(at: MtmeName) -> bool:
    """Return whether `PAIR.NAME` is a metric whose name only begins like a pair, such as `my-metric.v2-refA`."""
    return at.kind == "human" and file_of_a_metric(f"{at.name}.seg.score")


def files_of(names: Sequence[str], pair: str) -> MtmeFiles:
    """Return the files of a language pair. Raises `ImportProblems` if there are no outputs, or if two files are the same thing."""
    placed = {name: mtme_name(name) for name in names}
    kinds = {at.kind for at in placed.values() if at is not None}
    of: dict[tuple[str, str], list[tuple[str, MtmeName]]] = {}
    unread: list[tuple[str, str]] = []
    others = Counter[str]()
    for name in names:
        at = placed[name]
        if at is None:
            at = _without_folder(name, pair, kinds)
        if at is None:
            unread.append((name, "not named as in mt-metrics-eval's layout"))
        elif at.pair not in ("", pair):
            others[at.pair] += 1
        elif at.level in ("doc", "domain"):
            unread.append((name, "scores of documents or domains"))
        else:
            of.setdefault((at.kind, at.level), []).append((name, at))
    unread += [(format_count(n, "file"), f"pair {other}") for other, n in sorted(others.items())]

    def all_of(kind: str, level: str = "") -> list[tuple[str, MtmeName]]:
        return sorted(
            of.get((kind, level), ()), key=lambda placed_file: (placed_file[1].name.casefold(), placed_file[0])
        )

    _check(pair, of)
    references = all_of("reference")
    known = tuple(at.name for _, at in references)
    single = {kind: next((name for name, _ in all_of(kind)), None) for kind in ("source", "document")}
    systems = tuple((name, at.name) for name, at in all_of("system"))

    def scores(kind: str, level: str) -> tuple[ScoreFile, ...]:
        used = _references_in if kind == "metric" else lambda name, known: ()
        return tuple(ScoreFile(name, at.name, used(at.name, known)) for name, at in all_of(kind, level))

    return MtmeFiles(
        pair, LineRoles(single["source"], tuple(name for name, _ in references), systems, document=single["document"]),
        scores("human", "seg"), scores("rating", "seg"), scores("metric", "seg"), scores("human", "sys"), scores("metric", "sys"),
        known, tuple(unread),
    )  # fmt: skip


def _without_folder(path: str, pair: str, kinds: Collection[str]) -> MtmeName | None:
    """Return what the name of a file says if it is in none of the folders of the layout. Texts without folders count only if no texts of
    their kind are in their folder."""
    if MTME_FOLDERS & set(path.replace("\\", "/").split("/")[-3:-1]):
        return None
    at = mtme_name_without_folder(base_name(path), pair)
    if at is None or (at.kind in _TEXTS and at.kind in kinds):
        return None
    return at if at.kind != "metric" or "-" in at.name else None


def _references_in(metric: str, known: Sequence[str]) -> tuple[str, ...]:
    """Return the references that a metric used, by the end of its name."""
    _, dash, used = metric.rpartition("-")
    if not dash or used == "src":
        return ()
    return tuple(known) if used == "all" else tuple(used.split("."))


def _check(pair: str, of: dict[tuple[str, str], list[tuple[str, MtmeName]]]) -> None:
    problems = [
        Problem(", ".join(files), 0, "", "files for the same thing", "one", "Leave one of them out, or rename it")
        for of_kind in of.values()
        for files in _same(of_kind)
    ]
    if not of.get(("system", "")):
        expected = f"the outputs of one system per file, system-outputs/{pair}/SYSTEM.txt"
        problems.append(Problem("", 0, "", f"no outputs of {pair}", expected, "Check the folder and the language pair"))
    if problems:
        raise ImportProblems(problems)


def _same(of_kind: Sequence[tuple[str, MtmeName]]) -> list[list[str]]:
    by_name: dict[str, list[str]] = {}
    for file, at in of_kind:
        by_name.setdefault(at.name, []).append(file)
    return [files for files in by_name.values() if len(files) > 1]
