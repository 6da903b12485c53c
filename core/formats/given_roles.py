"""Which role every column and every text file has, as a list that people read, and roles that they give by hand (`--column ROLE=NAME`)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from core.data import grouped
from core.errors import UserError, unknown
from core.formats.column_facts import score_of_system
from core.formats.columns import JUDGED, Guess
from core.formats.files import base_name, stem
from core.formats.mapping import ColumnMapping, LineRoles, MetricColumn, SystemScoreColumn
from core.formats.parsing.cells import Cell, FileTable

SINGLE = ("document", "segment", "source", "system", "output")
ROLES = (*SINGLE, "reference", "human", "metric", "unused")
"""Roles of columns."""
FILE_ROLES = ("source", "reference", "document", "system", "unused")
"""Roles of line-aligned text files."""
_AS_IN = "as in "


class GivenRoles:
    """Roles that a person gives to columns of tables, or to text files, as `ROLE=NAME`. They replace the guesses for all files.

    Raises `UserError` for an unknown role.
    """

    def __init__(self, texts: Sequence[str] = ()) -> None:
        self._given: list[tuple[str, str]] = []
        self._used: set[str] = set()
        for text in texts:
            role, equals, name = text.partition("=")
            if not equals or role not in ROLES:
                raise unknown("role of a column", role, ROLES, hint="Write --column ROLE=NAME")
            self._given.append((role, name))

    def of_table(self, columns: Sequence[str], mapping: ColumnMapping) -> ColumnMapping:
        """Return the mapping of a table with the roles given to its columns."""
        for role, name in self._given:
            if name in columns:
                self._used.add(name)
                mapping = with_role(mapping, role, name)
        return _with_systems_of_scores(mapping) if mapping.layout == "wide" else mapping

    def of_files(self, roles: LineRoles) -> LineRoles:
        """Return the roles of text files with those given to them by name. Raises `UserError` for a role that only columns have."""
        for role, name in self._given:
            file = next((file for file in files_of(roles) if name in (file, base_name(file))), None)
            if file is None:
                continue
            self._used.add(name)
            if role not in FILE_ROLES:
                raise UserError(
                    "a text file cannot have this role", where=name, got=role, expected=", ".join(FILE_ROLES)
                )
            of = dict(file_roles_of(roles))
            replaced = [other for other, its in of.items() if role in ("source", "document") and its == role]
            del of[file]
            of |= dict.fromkeys(replaced, "unused") | {file: role}
            roles = line_roles(of, dict(roles.systems))
        return roles

    def check(self) -> None:
        """Raise `UserError` if a name is neither a column of a table nor a text file among those read so far."""
        if unused := [name for _, name in self._given if name not in self._used]:
            raise UserError("no file has this column, and no text file has this name", where="--column", got=unused[0])


def _with_systems_of_scores(mapping: ColumnMapping) -> ColumnMapping:
    """Return a wide mapping whose given scores have the system that their names say. Raises `UserError` if a name says none."""
    score_columns: list[tuple[str, bool | None]] = [(column, None) for column in mapping.human_scores]
    score_columns += [(m.column, m.higher_is_better) for m in mapping.metrics]
    scores = []
    for column, direction in score_columns:
        score = score_of_system(column, mapping.systems)
        if score is None:
            raise UserError(
                "the name of this column does not say the system that has these scores",
                where="--column",
                got=column,
                expected=f"a name such as {next(iter(mapping.systems), 'SYSTEM')}_quality in a table with one column per system",
                hint="Rename it, put the scores in a table with one row per output, or name the column with the outputs: --column output=NAME",
            )
        scores.append(score._replace(higher_is_better=direction))
    return mapping.with_(human_scores=(), metrics=(), system_scores=(*mapping.system_scores, *scores))


def file_roles_of(roles: LineRoles) -> list[tuple[str, str]]:
    """Return each file with its role, one of `FILE_ROLES`, by role."""
    of = {
        "source": filter(None, [roles.source]), "reference": roles.references, "document": filter(None, [roles.document]),
        "system": (file for file, _ in roles.systems), "unused": roles.unused,
    }  # fmt: skip
    return [(file, role) for role, files in of.items() for file in files]


def line_roles(of: Mapping[str, str], systems: Mapping[str, str]) -> LineRoles:
    """Return the roles of files from the role of each; `systems` names systems that are not named after their file."""
    files = {role: tuple(file for file, its in of.items() if its == role) for role in FILE_ROLES}
    source, document = (next(iter(files[role]), None) for role in ("source", "document"))
    named = tuple((file, systems.get(file, stem(file))) for file in files["system"])
    return LineRoles(source, files["reference"], named, files["unused"], document)


def files_of(roles: LineRoles) -> list[str]:
    """Return the files that have a role, also “unused”."""
    return [file for file, _ in file_roles_of(roles)]


def with_role(mapping: ColumnMapping, role: str, column: str) -> ColumnMapping:
    """Return the mapping with another role of a column. A role that one column has is taken from the column that had it."""

    def others(columns: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(c for c in columns if c != column)

    mapping = mapping.with_(
        **{name: None for name in SINGLE if getattr(mapping, name) == column},
        references=others(mapping.references), systems=others(mapping.systems), human_scores=others(mapping.human_scores),
        metrics=tuple(m for m in mapping.metrics if m.column != column),
        system_scores=tuple(s for s in mapping.system_scores if column not in (s.column, s.system)),
    )  # fmt: skip
    match role:
        case "reference":
            return mapping.with_(references=(*mapping.references, column))
        case "human":
            return mapping.with_(human_scores=(*mapping.human_scores, column))
        case "metric":
            return mapping.with_(metrics=(*mapping.metrics, MetricColumn(column, column)))
        case "unused":
            return mapping
        case "output":
            return mapping.with_(output=column, layout="long", systems=(), system_scores=())
        case "system" if mapping.layout == "wide":
            return mapping.with_(systems=(*mapping.systems, column))
    return mapping.with_(**{role: column})


def agree(tables: Sequence[FileTable], guesses: Sequence[Guess]) -> list[Guess]:
    """Return the guesses with one role for a column that several tables of the same layout have with the same cells.

    It is the role that the name of the column says, else the most frequent one, else that in the first table, of those that no other
    column has in the other tables where only one may.
    """
    copies: dict[tuple[str, str, tuple[Cell, ...]], list[int]] = defaultdict(list)
    for i, (table, guess) in enumerate(zip(tables, guesses, strict=True)):
        for column, cells in zip(table.columns, zip(*(row.cells for row in table.rows), strict=True), strict=True):
            copies[guess.mapping.layout, column, cells].append(i)
    agreed = list(guesses)
    for (_, column, _), places in copies.items():
        roles = {i: role_in(agreed[i].mapping, column) for i in places}
        named = [role for i, role in roles.items() if not agreed[i].why(column)]
        for role, _ in Counter(named or roles.values()).most_common():
            others = [i for i, own in roles.items() if own != role]
            if not any(role in SINGLE and getattr(agreed[i].mapping, role) for i in others):
                model = tables[next(i for i in places if i not in others)].name
                for i in others:
                    mapping = _without_empty_layout(with_role(agreed[i].mapping, role, column))
                    agreed[i] = agreed[i].with_(mapping, column, f"{_AS_IN}{model}")
                break
    return agreed


def _without_empty_layout(mapping: ColumnMapping) -> ColumnMapping:
    """Return a mapping that holds no outputs, systems or scores as one row per segment."""
    if mapping.output or mapping.system or mapping.human_scores or mapping.metrics:
        return mapping
    return mapping.with_(layout="wide")


def role_in(mapping: ColumnMapping, column: str) -> str:
    """Return the role of a column, one of `ROLES`."""
    lists = {"reference": mapping.references, "system": mapping.systems, "human": mapping.human_scores}
    if any(m.column == column for m in mapping.metrics):
        return "metric"
    if score := score_in(mapping, column):
        return "human" if score.higher_is_better is None else "metric"
    single = next((role for role in SINGLE if getattr(mapping, role) == column), None)
    return single or next((role for role, columns in lists.items() if column in columns), "unused")


def score_in(mapping: ColumnMapping, column: str) -> SystemScoreColumn | None:
    """Return the score of one system that a column of a wide table has, or None."""
    return next((score for score in mapping.system_scores if score.column == column), None)


def table_as_read(
    file: str, columns: Iterable[str], mapping: ColumnMapping, why: Callable[[str], str], notes: Sequence[str] = ()
) -> list[str]:  # fmt: skip
    """Return how a table was read: a heading, then a line for each role with its columns and, where their names do not say it, why."""
    of: dict[tuple[int, str], list[str]] = {}
    for column in columns:
        role = role_in(mapping, column)
        reason = said if (said := why(column)).startswith((JUDGED, _AS_IN)) or role == "unused" else ""
        score = score_in(mapping, column)
        named = f"{column} ({score.name} of {score.system})" if score else column
        of.setdefault((ROLES.index(role), reason), []).append(named)
    lines = [
        f"  {ROLES[role]}: {', '.join(named)}" + (f" ({reason})" if reason else "")
        for (role, reason), named in sorted(of.items())
    ]
    if mapping.layout == "long" and mapping.system is None:
        lines.append(f"  system: all rows are outputs of {mapping.system_name}, because no column names the system")
    return [f"How {file} was read (--column ROLE=NAME changes it):", *(f"  {note}" for note in notes), *lines]


def short_names(files: Sequence[str]) -> dict[str, str]:
    """Return the name of each file without its folder, or with it if another file has the same name."""
    bases = Counter(map(base_name, files))
    return {file: base_name(file) if bases[base_name(file)] == 1 else file for file in files}


def files_as_read(roles: LineRoles) -> list[str]:
    """Return how line-aligned text files were read: a heading, then a line for each role with its files."""
    shown = short_names(files_of(roles))
    shown |= {file: f"{shown[file]} ({name})" for file, name in roles.systems if stem(file) != name}
    of = grouped((role, shown[file]) for file, role in file_roles_of(roles))
    lines = [f"  {role}: {', '.join(files)}" for role, files in of.items()]
    return ["How the text files were read (--column ROLE=FILE changes it):", *lines]
