"""The two-level MQM typology (Freitag et al. 2021, as in Google's Anthea template)."""

from __future__ import annotations

from typing import Literal, NamedTuple

Where = Literal["output", "source", "either"]


class Category(NamedTuple):
    """A branch of the tree. A branch without children is itself an error category.

    `where` is the text in which its errors are marked. With `needs_note`, a note must explain the error. A `verdict` applies
    to the whole output and is chosen with one click instead of marking a span.
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
    """Return all categories as paths such as "Accuracy/Omission", in tree order; `marks_only` leaves out verdicts."""
    return tuple(
        path
        for branch in TREE
        if not (marks_only and branch.verdict)
        for path in (tuple(f"{branch.name}/{child}" for child in branch.children) or (branch.name,))
    )


def plain(name: str) -> str:
    """Return a category or severity normalised for comparison: case, extra spaces and a final "!" are ignored."""
    return "/".join(" ".join(part.split()) for part in name.casefold().rstrip("! \t").split("/"))


def needs_note(path: str) -> bool:
    """Return whether an error of this category needs an explanatory note."""
    top = plain(path).split("/")[0]
    return any(branch.needs_note and plain(branch.name) == top for branch in TREE)


def marked_in(path: str) -> Where:
    """Return the text in which errors of this category are marked; omissions are marked in the source."""
    if plain(path) == plain(OMISSION):
        return "source"
    top = plain(path).split("/")[0]
    return next((branch.where for branch in TREE if plain(branch.name) == top), "either")


def is_non_translation(category: str) -> bool:
    """Return whether the category is non-translation ("Non-translation", "Non-translation!")."""
    return plain(category) == plain(NON_TRANSLATION)
