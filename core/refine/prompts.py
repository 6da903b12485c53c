"""Prompts: short phrases added to the texts that BARTScore reads or scores (Yuan et al. 2021; Lu et al. 2023, appendix A).

With several phrases, a score is the mean over them. Phrases are kept in named lists, one per task. The list `mt` of the papers
is built in; others are read from the JSON file set as ERRORSCOPE_PROMPTS.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from core.errors import UserError, unknown
from core.formats.parsing.json_text import parsed
from core.refine.result import PromptSide, Variant, digest, one_line
from core.settings import load_settings

if TYPE_CHECKING:
    from core.models.architectures.seq2seq import Question, TextSide

Lists = dict[str, tuple[str, ...]]

BUILT_IN: Lists = {"mt": ("Such as",)}
SETTING = "ERRORSCOPE_PROMPTS"


def conditioned(text: str, prompt: str, side: PromptSide) -> str:
    """Return the encoder's text: `{text} {prompt},` if the prompt is on the encoder's side."""
    return f"{text} {prompt}," if prompt and side == "encoder" else text


def scored(text: str, prompt: str, side: PromptSide) -> str:
    """Return the decoder's text: `{prompt}, {text}` if the prompt is on the decoder's side."""
    return f"{prompt}, {text}" if prompt and side == "decoder" else text


def questions(condition: str, output: str, prompt: str, variant: Variant, side: PromptSide) -> list[Question]:
    """Return what a model scores for the BARTScore of an output: it given the condition, and the other way round, as the variant needs."""
    of: TextSide = "source" if variant == "faithfulness" else "target"
    pairs = [(condition, output)] * (variant != "recall") + [(output, condition)] * (variant in ("recall", "f"))
    return [(conditioned(x, prompt, side), scored(y, prompt, side), of) for x, y in pairs]


def load_lists(path: Path) -> Lists:
    """Read the prompt lists of a JSON file {name: [phrases]}; phrases are stripped. Raises UserError."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise UserError(
            "the prompt lists cannot be read", where=str(path), got=error.strerror or "", expected=_FORM
        ) from error
    try:
        content = parsed(raw.decode("utf-8-sig"))
    except ValueError as error:
        raise UserError("this is not a JSON file in UTF-8", where=str(path), got=str(error), expected=_FORM) from error
    if not isinstance(content, dict):
        raise UserError("this file has no prompt lists", where=str(path), got=type(content).__name__, expected=_FORM)
    return {_named(path, name): _phrases(path, name, listed) for name, listed in content.items()}


_FORM = '{"name": ["a phrase", "another"], …}'


def _named(path: Path, name: str) -> str:
    if not name.strip() or not one_line(name) or set(name) & set("|:;,@#%"):
        raise UserError(
            "the name of a prompt list is not allowed",
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
    """Return the stripped phrase. Raises UserError if it is empty, not a string or longer than one line."""
    text = phrase.strip() if isinstance(phrase, str) else ""
    if not text or not one_line(text):
        raise UserError("this is not a prompt", where=where, got=repr(phrase), expected="a phrase on one line")
    return text


def known_lists() -> Lists:
    """Return the built-in prompt list and those of the file in the settings. Raises UserError."""
    path = load_settings().prompts
    return BUILT_IN | (load_lists(path) if path else {})


def listed(name: str, lists: Lists | None = None) -> tuple[str, ...]:
    """Return the phrases of a list. Raises UserError, with the nearest names, for an unknown name."""
    lists = known_lists() if lists is None else lists
    if name in lists:
        return lists[name]
    raise unknown("prompt list", name, lists, hint=f"Set {SETTING} to the file with your lists")


def file_in(text: str) -> Path | None:
    """Return the file of `FILE:LIST`, or None for a list name without a file."""
    file, colon, _ = text.rpartition(":")
    return Path(file).expanduser() if colon else None


def from_file(text: str) -> tuple[str, ...]:
    """Return the phrases of `FILE:LIST`, or of a known list. Raises UserError."""
    path = file_in(text)
    return listed(text) if path is None else listed(text.rpartition(":")[2], load_lists(path))


def with_digest(count: int, code: str) -> tuple[str, ...]:
    """Return the known list with that number of phrases and digest. Raises UserError if there is none."""
    for phrases in known_lists().values():
        if (len(phrases), digest(phrases)) == (count, code):
            return phrases
    raise UserError(
        "the prompts of this signature cannot be found",
        got=f"{count} phrases with the digest {code}",
        hint=f"Set {SETTING} to the file with this list",
    )
