"""Options of a metric: declaration, parsing, formatting and labels. Expressions, forms and tables all use them.

Values appear in metric expressions, `name|option:value|…`; reserved characters are percent-encoded.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal
from urllib.parse import quote, unquote

from core.errors import UserError
from core.formats.parsing.numbers import parse_number as finite
from core.refine import prompts
from core.refine.result import digest, one_line
from core.signature import format_exact
from core.text.sentences import DEFAULT, SPLITTERS

Kind = Literal["whole", "decimal", "choice", "several", "yes_no", "phrases", "text"]
Values = Mapping[str, Any]
"""Option values by name; whole: int (or None where `none` allows it), decimal: float, choice and text: str, several
and phrases: tuples of str, yes_no: bool."""

RESERVED = "%|:;,"
LIST, DIGEST = "@", "#"
SHOWN = 40
_WHOLE = re.compile(r"[+-]?[0-9]+")
_DIGEST = re.compile(r"#(\d+)-([0-9a-f]{8})")


def _always(values: Values) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a metric.

    `label` names it in a form; `word` is its template in the label of a metric ("k = {}"). `none` is the word for None, if
    None is allowed; `low` and `high` bound numbers; `choices` lists the allowed words, or suggestions if `kind` is "text".
    `when(values)` returns whether the option has an effect; if not, it counts as its default. `settle` normalises a text
    or raises UserError.
    """

    name: str
    kind: Kind
    default: Any
    help: str
    label: str = ""
    word: str = ""
    choices: tuple[str, ...] = ()
    low: float = 0
    high: float = float("inf")
    none: str = ""
    when: Callable[[Values], bool] = _always
    settle: Callable[[str], str] = str

    @property
    def expected(self) -> str:
        """Return a description of the allowed values."""
        if self.kind in ("whole", "decimal"):
            kind = "a whole number" if self.kind == "whole" else "a number"
            bounds = f"from {format_exact(self.low)} to {format_exact(self.high)}"
            return f"{kind} {bounds}" + (f", or “{self.none}”" if self.none else "")
        if self.kind == "several":
            return "some of " + ", ".join(self.choices) + ", joined by +"
        if self.kind == "phrases":
            return "phrases joined by ; or @ and the name of a list"
        if self.kind == "text":
            return ", ".join(self.choices) + " or another"
        return "yes or no" if self.kind == "yes_no" else "one of " + ", ".join(self.choices)

    def parse(self, text: str, metric: str = "") -> Any:
        """Return the value that a text stands for. Raises UserError naming the option, the text and what was expected."""
        where = f"option {self.name} of {metric}" if metric else f"option {self.name}"
        if self.kind == "phrases":
            return _phrases(text, where)
        if self.kind == "text":
            return self.settle(unquote(text).strip())
        value = self._read(text.strip())
        if value is not _WRONG:
            return value
        near = get_close_matches(text.strip(), self.choices, n=1)
        raise UserError(
            "this option does not accept this value",
            where=where,
            got=f"“{text}”",
            expected=self.expected,
            hint=f"Did you mean {near[0]}?" if near else "",
        )

    def _read(self, text: str) -> Any:
        if self.kind == "yes_no":
            return {"yes": True, "no": False}.get(text.lower(), _WRONG)
        if self.kind == "choice":
            return text if text in self.choices else _WRONG
        if self.kind == "several":
            words = {w.strip() for w in text.split("+")}
            return tuple(c for c in self.choices if c in words) if words <= set(self.choices) else _WRONG
        if self.none and text == self.none:
            return None
        parsed = math.inf if text == "inf" and self.kind == "decimal" else finite(text)
        if parsed is None or (self.kind == "whole" and not _WHOLE.fullmatch(text)):
            return _WRONG
        value: int | float = int(text) if self.kind == "whole" else parsed
        return value if self.low <= value <= self.high else _WRONG

    def write(self, value: Any) -> str:
        """Return a value as text that `parse` reads back."""
        if value is None:
            return self.none
        if self.kind == "yes_no":
            return "yes" if value else "no"
        if self.kind in ("whole", "decimal"):
            return format_exact(value) if isinstance(value, float) else str(value)
        if self.kind == "several":
            return "+".join(value)
        if self.kind == "text":
            return encoded(value)
        return ";".join(map(encoded, value)) if self.kind == "phrases" else str(value)

    def brief(self, value: Any) -> str:
        """Return what `write` does, but phrases as count and digest. `parse` reads those only if the list is known."""
        return f"{DIGEST}{len(value)}-{digest(value)}" if self.kind == "phrases" else self.write(value)

    def say(self, text: str) -> str:
        """Return a written value as it appears in a label. A digest is shown as it is, without looking up its list."""
        if self.kind != "phrases":
            return (self.word or self.name + " {}").format(unquote(text) if self.kind == "text" else text)
        if match := _DIGEST.fullmatch(text):
            return _counted(int(match[1]), match[2])
        phrases = self.parse(text)
        if len(phrases) != 1:
            return _counted(len(phrases), digest(phrases))
        return f"prompt “{phrases[0] if len(phrases[0]) <= SHOWN else phrases[0][:SHOWN] + '…'}”"


_WRONG = object()

SENTENCES = Option(
    "sentences", "choice", DEFAULT, "how texts are split into sentences: at the end marks of all scripts except after abbreviations (prose), at every end mark "
    "(rule), after . ? ! before a space (point), or with pySBD for a language", "Sentence splitter", "sentences by {}", choices=SPLITTERS,
)  # fmt: skip


def measure_option(units: str, others: str = "the reference's") -> Option:
    """Return the option that selects F, precision or recall."""
    words = f"F, precision (of the output's {units}) or recall (of {others})"
    return Option("measure", "choice", "f", words, "Measure", "measure {}", choices=("f", "p", "r"))


def encoded(phrase: str) -> str:
    """Return a phrase for use in an expression, with reserved characters percent-encoded."""
    first = phrase[:1] in (LIST, DIGEST)
    return "".join(
        quote(c, safe="") if c in RESERVED or not one_line(c) or (first and i == 0) else c for i, c in enumerate(phrase)
    )


def _counted(count: int, code: str) -> str:
    return f"{count} prompt{'s' if count != 1 else ''} {code}"


def _phrases(text: str, where: str) -> tuple[str, ...]:
    if match := _DIGEST.fullmatch(text.strip()):
        return prompts.with_digest(int(match[1]), match[2])
    if text.strip().startswith(LIST):
        return prompts.listed(text.strip()[1:])
    phrases = [unquote(part, errors="surrogateescape").strip() for part in text.split(";")]
    return tuple(dict.fromkeys(prompts.checked(phrase, where) for phrase in phrases if phrase))
