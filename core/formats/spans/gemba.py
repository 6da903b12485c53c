"""Replies of GEMBA-MQM, GEMBA-ESA and AutoMQM in the form of GEMBA's first version, read strictly.

A reply has the headings `Critical:` (optional), `Major:` and `Minor:`, each followed by `no-error` or by lines `category/subcategory -
"quote"`. Anything else makes the whole reply unreadable: it is never "no error", and no text becomes an error that is none (the parser
published with GEMBA counts an empty reply, a refusal and `**Major:**` as perfect).
"""

from __future__ import annotations

import re

from core.formats.problems import shown
from core.spans.quotes import Quote

NON_TRANSLATION = "Non-translation!"
_HEADING = re.compile(r"[*#_\s]*(critical|major|minor)(?:\s+errors?)?[*_\s]*:[*_\s]*(.*)", re.IGNORECASE)
_NO_ERROR = re.compile(r"no[- ]errors?\.?", re.IGNORECASE)
_ERROR = re.compile(r"(?P<category>[^\"“”„«»]+?)\s+[-–—]\s+(?P<quote>[\"“„«].*[\"”“»])\s*\.?")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")
_NEEDED = {"major", "minor"}


class Unreadable(ValueError):  # noqa: N818  (what the reply is)
    """Why a reply cannot be read."""


def read_reply(reply: str) -> list[Quote]:
    """Return the quoted errors of a reply, empty if it says "no error" throughout. Raises `Unreadable`."""
    listed: dict[str, list[Quote]] = {}
    clean: set[str] = set()
    heading = ""
    for line in filter(str.strip, reply.splitlines()):
        of_heading = _HEADING.fullmatch(line)
        if of_heading:
            heading = of_heading[1].casefold()
            if heading in listed:
                raise Unreadable(f"“{heading}” occurs twice")
            listed[heading] = []
        elif not heading:
            raise Unreadable(f"text before the first heading: {shown(line.strip())}")
        said = of_heading[2].strip() if of_heading else _BULLET.sub("", line, count=1).strip()
        if not said:
            continue
        if _NO_ERROR.fullmatch(said):
            clean.add(heading)
        else:
            listed[heading].append(_error(said, heading))
    if missing := sorted(_NEEDED - listed.keys()):
        raise Unreadable(
            f"no heading “{missing[0].capitalize()}:”; the reply may be cut" if reply.strip() else "the reply is empty"
        )
    for name, errors in listed.items():
        if (name in clean) == bool(errors):
            raise Unreadable(
                f"“{name}” has errors and no-error" if errors else f"nothing is under “{name}”; the reply may be cut"
            )
    return [quote for errors in listed.values() for quote in errors]


def _error(line: str, severity: str) -> Quote:
    error = _ERROR.fullmatch(line)
    if error is None:
        raise Unreadable(f"this line is not an error: {shown(line)}")
    return Quote(error["quote"][1:-1], severity, category_path(error["category"]))


def category_path(name: str) -> str:
    """Return a category with capitals as in our tree: accuracy/mistranslation → Accuracy/Mistranslation."""
    parts = [part.strip() for part in name.split("/")]
    if parts[0].casefold().startswith("non-translation"):
        return NON_TRANSLATION
    return "/".join(part[:1].upper() + part[1:] for part in parts if part) or "Unspecified"
