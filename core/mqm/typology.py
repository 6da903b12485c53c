"""The MQM tree (Freitag et al. 2021, as in Google's Anthea template): two levels, as data."""

from __future__ import annotations

from typing import Literal, NamedTuple

Where = Literal["output", "source", "either"]


class Category(NamedTuple):
    """A branch of the tree. Without children the branch is itself an error category.

    `where` says in which text its errors are marked; `needs_note` that the note must explain the error;
    `verdict` that it speaks of the whole output and is given as one click instead of a mark.
    """

    name: str
    children: tuple[str, ...] = ()
    where: Where = "output"
    needs_note: bool = False
    verdict: bool = False


NON_TRANSLATION = "Non-translation"
OMISSION = "Accuracy/Omission"

TREE: tuple[Category, ...] = (
    Category(
        "Accuracy", ("Mistranslation", "Addition", "Omission", "Source language fragment", "Creative reinterpretation")
    ),
    Category("Fluency", ("Grammar", "Spelling", "Punctuation", "Register", "Inconsistency", "Character encoding")),
    Category("Style", ("Unnatural or awkward", "Bad sentence structure")),
    Category("Terminology", ("Inappropriate for context", "Inconsistent")),
    Category(
        "Locale convention",
        ("Address format", "Currency format", "Date format", "Name format", "Telephone format", "Time format"),
    ),
    Category("Other", needs_note=True),
    Category("Source issue", where="either"),
    Category(NON_TRANSLATION, verdict=True),
)


def paths(*, marks_only: bool = False) -> tuple[str, ...]:
    """Every category as a path such as "Accuracy/Omission", in the order of the tree; `marks_only` leaves out verdicts."""
    return tuple(
        path
        for branch in TREE
        if not (marks_only and branch.verdict)
        for path in (tuple(f"{branch.name}/{child}" for child in branch.children) or (branch.name,))
    )


def plain(name: str) -> str:
    """A category or severity as it is compared: case, outer blanks, blanks around "/" and a closing "!" do not count."""
    return "/".join(" ".join(part.split()) for part in name.casefold().rstrip("! \t").split("/"))


def needs_note(path: str) -> bool:
    """Whether an error of this category must be explained in its note."""
    top = plain(path).split("/")[0]
    return any(branch.needs_note and plain(branch.name) == top for branch in TREE)


def marked_in(path: str) -> Where:
    """The text in which errors of this category are marked: an omission has no place but in the source."""
    if plain(path) == plain(OMISSION):
        return "source"
    top = plain(path).split("/")[0]
    return next((branch.where for branch in TREE if plain(branch.name) == top), "either")


def is_non_translation(category: str) -> bool:
    """Whether the category says that the output is no translation at all ("Non-translation", "Non-translation!")."""
    return plain(category) == plain(NON_TRANSLATION)
