"""Signs that end a sentence in one script only, such as the semicolon in Greek, where it is the question mark.

Their meaning is decided by the script of the letters before them in their sentence, never by the sign alone.
"""

from __future__ import annotations

import re
from collections import Counter

from core.text.abbreviations import ends_no_sentence

_LETTERS = {
    "greek": "\u0370-\u0373\u0376-\u037d\u037f\u0386\u0388-\u03ff\u1f00-\u1fff",
    "armenian": "\u0531-\u0556\u0559\u0560-\u0588\ufb13-\ufb17",
    "ethiopic": "\u1200-\u135f\u1380-\u138f\u2d80-\u2ddf\uab01-\uab2e",
    "indic": "\u0900-\u0963\u0966-\u0dff",  # Devanagari to Sinhala: a bar is typed for the danda
}
_MARKS = {
    "greek": {";": "?"},
    "armenian": {":": "?", "::": "??"},
    "ethiopic": {"::": "??", "\u1361\u1361": "\u1362\u1362"},
    "indic": {"|": "\u0964", "||": "\u0964\u0964"},
}
"""The signs of each script, and signs of the same length that end sentences in any."""

_SIGN = re.compile("[;:|\u1361]")
_SCRIPT = re.compile(f"[{''.join(_LETTERS.values())}]")
_TOKEN = re.compile(
    "|".join(f"(?P<{name}>[{letters}]+)" for name, letters in _LETTERS.items())
    + r"|(?P<end>[\n\r\u2028\u2029!?\u2026\u0589\u0964\u0965\u1362\u1367]|\.(?=\s))|(?P<mark>::|\|\||\u1361\u1361|[;:](?!\w)|\|)|(?P<other>[^\W\d_])"
)


def with_common_marks(text: str) -> str:
    """Return the text with the signs that end sentences in the script around them replaced by common ones; offsets stay the same.

    A sign counts if more than half of the letters before it in its sentence are of its script; a bar only directly after a letter.
    """
    if not _SIGN.search(text) or not _SCRIPT.search(text):
        return text
    out, letters, last, sentence, small = list(text), Counter[str](), -1, 0, text == text.lower()
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup or ""
        if kind == "mark":
            script = next((name for name, n in letters.items() if 2 * n > letters.total()), "")
            common = _MARKS.get(script, {}).get(token[0])
            if common is None or (token[0][0] == "|" and last != token.start()):
                continue
            out[token.start() : token.end()] = common
            letters.clear()
            sentence = token.end()
        elif kind == "end":
            if token[0] != "." or not ends_no_sentence(text, *token.span(), sentence, small):
                letters.clear()
                sentence = token.end()
        else:
            letters[kind] += len(token[0])
            last = token.end()
    return "".join(out)
