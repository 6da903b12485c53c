"""Prompts: short phrases joined to the texts that BARTScore reads or scores (Yuan et al. 2021; Lu et al. 2023, appendix A).

With several phrases a score is the mean over them. Which phrases helped which task stands in lists: `mt` is built in, a
fact of the papers; others are read from the JSON file that ERRORSCOPE_PROMPTS names.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from core.errors import UserError, unknown
from core.formats.json_text import parsed
from core.refine.options import Side, digest, one_line
from core.settings import load as settings

Lists = dict[str, tuple[str, ...]]

BUILT_IN: Lists = {"mt": ("Such as",)}
SETTING = "ERRORSCOPE_PROMPTS"


def conditioned(text: str, prompt: str, side: Side) -> str:
    """The conditioning text as the encoder reads it: `{text} {prompt},` on the encoder's side."""
    return f"{text} {prompt}," if prompt and side == "encoder" else text


def scored(text: str, prompt: str, side: Side) -> str:
    """The text as the decoder scores it: `{prompt}, {text}` on the decoder's side."""
    return f"{prompt}, {text}" if prompt and side == "decoder" else text


def load_lists(path: Path) -> Lists:
    """The lists of a JSON file {name: [phrases]}, each phrase without blanks around it. Raises UserError."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise UserError(
            "the prompt lists cannot be read", where=str(path), got=error.strerror or "", expected=_FORM
        ) from error
    try:
        content = parsed(raw.decode("utf-8-sig"))
    except ValueError as error:
        raise UserError("this is no JSON file in UTF-8", where=str(path), got=str(error), expected=_FORM) from error
    if not isinstance(content, dict):
        raise UserError("this is no set of prompt lists", where=str(path), got=type(content).__name__, expected=_FORM)
    return {_named(path, name): _phrases(path, name, listed) for name, listed in content.items()}


_FORM = '{"name": ["a phrase", "another"], …}'


def _named(path: Path, name: str) -> str:
    if not name.strip() or not one_line(name) or set(name) & set("|:;,@#%"):
        raise UserError(
            "a prompt list has a name that cannot be written",
            where=str(path),
            got=repr(name),
            expected="a word without | : ; , @ # %",
        )
    return name


def _phrases(path: Path, name: str, listed: object) -> tuple[str, ...]:
    where = f"{path}, list “{name}”"
    if not isinstance(listed, list) or not listed:
        raise UserError("this prompt list has no phrases", where=where, got=type(listed).__name__, expected=_FORM)
    return tuple(dict.fromkeys(checked(phrase, f"{where}, phrase {i}") for i, phrase in enumerate(listed, start=1)))


def checked(phrase: object, where: str) -> str:
    """A phrase without blanks around it. Raises UserError for one that is empty, no text, or more than one line."""
    text = phrase.strip() if isinstance(phrase, str) else ""
    if not text or not one_line(text):
        raise UserError("this is no prompt", where=where, got=repr(phrase), expected="a phrase on one line")
    return text


def known_lists() -> Lists:
    """The lists one may name: the built-in one, and those of the file that the settings name. Raises UserError."""
    path = settings().prompts
    if path is None:
        return dict(BUILT_IN)
    try:
        stat = path.stat()
    except OSError:
        return BUILT_IN | load_lists(path)
    return BUILT_IN | _read(path, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=8)
def _read(path: Path, changed: int, size: int) -> Lists:
    return load_lists(path)


def listed(name: str, lists: Lists | None = None) -> tuple[str, ...]:
    """The phrases of a list. Raises UserError, with the nearest names, when there is none of that name."""
    lists = known_lists() if lists is None else lists
    if name in lists:
        return lists[name]
    raise unknown("prompt list", name, lists, hint=f"{SETTING} names the file that lists are read from")


def file_in(text: str) -> Path | None:
    """The file of `FILE:LIST`; None for a list that is known by its name."""
    file, colon, _ = text.rpartition(":")
    return Path(file).expanduser() if colon else None


def from_file(text: str) -> tuple[str, ...]:
    """The phrases of `FILE:LIST`, or of a list that is known by its name. Raises UserError."""
    path = file_in(text)
    return listed(text) if path is None else listed(text.rpartition(":")[2], load_lists(path))


def with_digest(count: int, code: str) -> tuple[str, ...]:
    """The known list of that many phrases with that digest. Raises UserError when none is here."""
    for phrases in known_lists().values():
        if (len(phrases), digest(phrases)) == (count, code):
            return phrases
    raise UserError(
        "these prompts are not here any more",
        got=f"{count} phrases with the digest {code}",
        hint=f"Set {SETTING} to the file with the list they came from",
    )
