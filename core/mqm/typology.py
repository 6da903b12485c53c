"""Error typologies: severities and categories with definitions and examples, read from `typologies/*.toml`.

The MQM typology is that of Freitag et al. (2021), as in Google's Anthea template. A project may have an edited one.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from core.data import SEVERITIES
from core.errors import UserError
from core.mqm.action_form import LONGEST_CATEGORY, text_fault

Where = Literal["output", "source", "either"]
LONGEST_DEFINITION = 500
NON_TRANSLATION = "Non-translation"


class Explained(NamedTuple):
    """A severity, or the verdict on a whole output, with its definition and an example."""

    name: str
    definition: str = ""
    example: str = ""


class Category(NamedTuple):
    """An error category. `path` is its name, after its group if it has one: "Accuracy/Omission".

    `where` is the text in which its errors are marked. With `needs_note`, a note must explain the error.
    """

    path: str
    definition: str = ""
    example: str = ""
    where: Where = "output"
    needs_note: bool = False


@dataclass(frozen=True, slots=True)
class Typology:
    """`whole` is the verdict on an output that cannot be marked; labels store it as a non-translation in every typology."""

    name: str
    title: str
    source: str
    whole: Explained
    severities: tuple[Explained, ...]
    categories: tuple[Category, ...]

    @property
    def omission(self) -> str:
        """Return the category of what is missing: the one that is marked in the source only; "" without one."""
        return next((c.path for c in self.categories if c.where == "source"), "")


def from_json(stored: Mapping[str, Any]) -> Typology:
    """Return a typology from plain values, as in the files. Raises `UserError` for one that cannot be used."""
    categories = tuple(_category(n, row) for n, row in enumerate(stored["categories"], 1))
    severities = tuple(Explained(**{k: str(v) for k, v in row.items()}) for row in stored["severities"])
    if tuple(s.name for s in severities) != SEVERITIES:
        raise UserError("the severities have fixed names", expected=", ".join(SEVERITIES))
    for s in severities:
        _check(s.name, s.definition, s.example)
    if not categories:
        raise UserError("a typology needs at least one category", hint="Add a row")
    first: dict[str, int] = {}
    for n, c in enumerate(categories, 1):
        if first.setdefault(plain(c.path), n) != n:
            raise UserError("this category is there twice", where=f"row {n}", got=repr(c.path), hint="Rename one")
    whole = Explained(**stored["whole"])
    return Typology(str(stored["name"]), str(stored["title"]), str(stored["source"]), whole, severities, categories)


def _category(n: int, row: Mapping[str, Any]) -> Category:
    path = "/".join(" ".join(part.split()) for part in str(row.get("path") or "").split("/"))
    where: Any = row.get("where") or "output"
    if not all(path.split("/")) or path.count("/") > 1:
        expected = "“Category” or “Group/Category”"
        raise UserError("this category has no usable name", where=f"row {n}", got=repr(path[:60]), expected=expected)
    if plain(path) == plain(NON_TRANSLATION):
        raise UserError(
            f"“{NON_TRANSLATION}” is a verdict on a whole output", where=f"row {n}", hint="Use another name"
        )
    if where not in get_args(Where):
        raise UserError("errors are marked in output, source or either", where=f"row {n}", got=repr(where))
    made = Category(
        path, str(row.get("definition") or ""), str(row.get("example") or ""), where, bool(row.get("needs_note"))
    )
    _check(f"row {n}", made.definition, made.example, path)
    return made


def _check(where: str, definition: str, example: str, path: str = "") -> None:
    fault = (
        text_fault("name", path, LONGEST_CATEGORY)
        or text_fault("definition", definition, LONGEST_DEFINITION)
        or text_fault("example", example, LONGEST_DEFINITION)
    )
    if fault:
        raise UserError("this text cannot be stored", where=where, got=fault, hint="Shorten or retype it")


def to_json(typology: Typology) -> dict[str, Any]:
    """Return the typology as plain values for `from_json`."""
    rows = {name: [row._asdict() for row in getattr(typology, name)] for name in ("severities", "categories")}
    return asdict(typology) | rows | {"whole": typology.whole._asdict()}


def plain(name: str) -> str:
    """Return a category or severity normalised for comparison: case, extra spaces and a final "!" are ignored."""
    return "/".join(" ".join(part.split()) for part in name.casefold().rstrip("! \t").split("/"))


def is_non_translation(category: str) -> bool:
    """Return whether the category is non-translation ("Non-translation", "Non-translation!")."""
    return plain(category) == plain(NON_TRANSLATION)


def _bundled() -> dict[str, Typology]:
    files = {
        name: Path(__file__).parent / "typologies" / f"{name}.toml" for name in ("mqm", "summaries", "data_to_text")
    }
    return {name: from_json({"name": name, **tomllib.loads(f.read_text("utf-8"))}) for name, f in files.items()}


TYPOLOGIES = _bundled()
MQM = TYPOLOGIES["mqm"]
