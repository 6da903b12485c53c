"""Guess the language of a text, and the kind of its script, which decides how it is split into words."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal

from core.text.words import UNSPACED, is_unspaced, words

SAMPLE = 400
"""Characters that are looked at."""
UNKNOWN = "unknown language"
_SCRIPTS = {"CJK": "Chinese", "HANGUL": "Korean", "HIRAGANA": "Japanese", "KATAKANA": "Japanese"}
_FUNCTION_WORDS = {
    "English": "the of and to is are was were that this with for from it he she they his which not have has by",
    "German": "der die das und ist nicht ein eine einen dem den des mit von zu auf für sich auch wird sind bei",
    "French": "le la les et est une des du dans que qui pour pas sur avec au aux sont ce cette il elle ont un",
    "Spanish": "el la los las y es en una del por con para se su al lo como más pero fue que un",
    "Italian": "il la di che è per un una non sono della dei gli anche nel alla con ha si",
    "Portuguese": "o a os e do da em um uma não dos das com ao mais foi na no que para se",
    "Dutch": "de het een van en niet dat is zijn voor met ook aan werd op te die in",
    "Swedish": "och att som är på det en ett av till inte jag har om för med den",
    "Polish": "w z na się nie jest że i do jak ale to o po od przez",
    "Czech": "a v se na je že s z do to i o k ve jsou byl není",
}
_BY_WORD = {word: [name for name, words in _FUNCTION_WORDS.items() if word in words.split()]
            for words in _FUNCTION_WORDS.values() for word in words.split()}  # fmt: skip


@lru_cache(maxsize=1 << 14)
def language(text: str) -> str:
    """Return the name of the language, of the script if it has many languages, or `UNKNOWN`. Looks at the beginning only."""
    start = text[:SAMPLE]
    scripts = Counter[str]()
    for c, n in Counter(start).items():
        if c.isalpha():
            scripts[unicodedata.name(c, "").split(" ")[0]] += n
    if not scripts:
        return UNKNOWN
    if any(scripts[kana] for kana in ("HIRAGANA", "KATAKANA")):
        return "Japanese"
    script = scripts.most_common(1)[0][0]
    if script != "LATIN":
        return _SCRIPTS.get(script, f"{script.capitalize()} script")
    votes = Counter(name for word in re.findall(r"\w+", start.casefold()) for name in _BY_WORD.get(word, ()))
    (best, n), (_, second) = [*votes.most_common(2), (UNKNOWN, 0), (UNKNOWN, 0)][:2]
    return best if n > second else UNKNOWN


Writing = Literal["spaced", "han", "unspaced"]
"""Words separated by spaces; Chinese characters; another script without spaces, or mixed with Chinese characters."""

MOSTLY_HAN = 0.9
_UNSPACED = re.compile("[" + "".join(f"{chr(low)}-{chr(high)}" for low, high in UNSPACED) + "]")
_HAN = re.compile("[\u2e80-\u2fdf\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd]")


def has_unspaced(text: str) -> bool:
    """Return whether the text has a character of a script without spaces."""
    return any(is_unspaced(match[0]) for match in _UNSPACED.finditer(text))


@lru_cache(maxsize=1 << 14)
def writing(texts: Sequence[str]) -> Writing:
    """Return how most words of the texts (a tuple) are written; a character of a script without spaces counts as a word.

    Texts without any word are "spaced".
    """
    if not any(map(_UNSPACED.search, texts)):
        return "spaced"
    first = [text[start] for text in texts for start, _ in words(text)]
    single = [char for char in first if is_unspaced(char)]
    if 2 * len(single) < len(first) or not single:
        return "spaced"
    return "han" if sum(map(bool, map(_HAN.match, single))) >= MOSTLY_HAN * len(single) else "unspaced"


def tokens_by(names: dict[Writing, str], texts: Iterable[Sequence[str]]) -> str:
    """Return the names of the tokenizers used for the texts, joined by +; that for "spaced" if there are no texts."""
    tokenizers = {names[writing(tuple(segment_texts))] for segment_texts in texts}
    return "+".join(name for name in dict.fromkeys(names.values()) if name in tokenizers) or names["spaced"]
