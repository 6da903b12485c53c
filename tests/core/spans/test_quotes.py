"""Quotes and their places: 1,000 constructed quotes whose places are known, and single cases."""

from __future__ import annotations

import random
import unicodedata
from collections import Counter
from typing import Literal, NamedTuple

from core.data import Side
from core.spans.quotes import Outcome, Quote, place_quotes
from core.text.words import grapheme_starts

EMOJI = ["👩‍🚀", "👍🏽", "🇩🇪", "❤️", "👨‍👩‍👧", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "🎉", "1️⃣"]
SYLLABLES = {
    "latin": ["ba", "ko", "ri", "tu", "mé", "Lan", "sö", "ve", "dhi", "no", "Qua", "fe", "ğuß"],
    "decomposed": [unicodedata.normalize("NFD", s) for s in ("é", "bü", "ñi", "Çe", "ő", "kå", "ru", "ti", "Né", "ǎl", "so")],
    "chinese": list("的一是不了人我在有他这中大来上个国到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可她里后小么心多天"),
    "arabic": ["با", "كو", "ري", "تُ", "مَ", "لا", "سي", "وه", "دِ", "نو", "قَ", "في", "خا", "جم"],
    "emoji": [*EMOJI, "lo", "pa", "Ru", "xi", "ze", "mu"],
}  # fmt: skip


class Constructed(NamedTuple):
    """Quotes of one output, the places where they were taken from (None: none is right), and the outcome that must follow."""

    output: str
    source: str
    quotes: list[Quote]
    places: list[tuple[int, int] | None]
    outcome: Outcome


def words(rng: random.Random, script: str, n: int) -> list[str]:
    """Return different words, none of which is a part of another one or of two neighbours joined by a space."""
    made: list[str] = []
    while len(made) < n:
        size = 1 if script == "chinese" else rng.randint(3, 5)
        word = "".join(rng.choice(SYLLABLES[script]) for _ in range(size))
        if not any(word.casefold() in m.casefold() or m.casefold() in word.casefold() for m in made):
            made.append(word)
    return made


def constructed(rng: random.Random, script: str, kind: str) -> Constructed:
    space = "" if script == "chinese" else " "
    every = words(rng, script, 40)
    before, phrase, middle, after, source = every[:8], every[8:14], every[14:20], every[20:26], every[26:]
    head, quoted = space.join(before) + space, space.join(phrase)
    text = head + quoted + space + space.join(middle) + space + space.join(after)
    at = (len(head), len(head) + len(quoted))
    other = space.join(source)

    def one(quote: str, place: tuple[int, int] | None, outcome: Outcome, category: str = "c") -> Constructed:
        return Constructed(text, other, [Quote(quote, "Major", category)], [place], outcome)

    if kind == "unchanged":
        return one(quoted, at, "exact")
    if kind == "repeated":
        again = text + space + quoted
        second = (len(again) - len(quoted), len(again))
        quote = Quote(quoted, "Major", "c")
        match rng.randrange(3):
            case 0:
                return Constructed(again, other, [quote], [None], "ambiguous")
            case 1:
                return Constructed(again, other, [quote, quote], [at, second], "exact")
        context = Quote(quoted, "Major", "c", context=after[-1] + space + quoted)
        return Constructed(again, other, [context], [second], "exact")
    if kind == "marks":
        start, end = at
        text = text[:start] + "“" + quoted + "” – it’s…" + text[end:]
        forms = ('"' + quoted + "\" - it's…", "«" + quoted + "» — it´s…", "\u200b„" + quoted + "“\u00a0‒  it's…")
        return one(rng.choice(forms), (start, end + 10), "folded")
    if kind == "other form":
        form: Literal["NFC", "NFD"] = "NFC" if script == "decomposed" else "NFD"
        changed = unicodedata.normalize(form, quoted if script == "decomposed" else quoted.upper())
        text = "İ" + text
        return one("\u2060" + changed.replace(" ", "\u202f "), (at[0] + 1, at[1] + 1), "folded")
    if kind == "truncated":
        cut = len(space.join(phrase[:4]))
        return one(quoted[:cut] + rng.choice(["…", " ...", "[…]"]), (at[0], at[0] + cut), "folded")
    if kind == "misspelt":
        long = phrase + middle if script == "chinese" else phrase
        wrong = [*long]
        i = rng.randrange(1, len(long) - 1)
        replaced = [wrong[i] + "x", "X", ""]
        wrong[i] = replaced[0] if script == "emoji" else rng.choice(replaced)  # an emoji word is too long to be lost
        return one(space.join(wrong), (at[0], at[0] + len(space.join(long))), "fuzzy")
    if kind == "twice misspelt":
        text += space + quoted
        return one(quoted.replace(phrase[2], phrase[2] + "x"), None, "ambiguous")
    if kind == "of the source":
        other += space + middle[0]
        return one(space.join(source[2:8]), None, "wrong_side")
    if kind == "omission":
        place = (len(space.join(source[:2]) + space), len(space.join(source[:8])))
        return one(space.join(source[2:8]), place, "exact", "accuracy/omission")
    if kind == "invented":
        return one("zzyyxx qqww zzkk", None, "not_found")
    return one(rng.choice(["", "  ", "\u200b\n"]), None, "empty")


KINDS = ["unchanged", "repeated", "marks", "other form", "truncated", "misspelt", "twice misspelt", "of the source", "omission", "invented", "empty"]  # fmt: skip


def test_no_quote_of_1000_gets_a_wrong_place() -> None:
    rng = random.Random(20)
    outcomes: Counter[Outcome] = Counter()
    due: Counter[Outcome] = Counter()
    n = 0
    while n < 1000:
        script, kind = rng.choice(sorted(SYLLABLES)), KINDS[n % len(KINDS)]
        case = constructed(rng, script, kind)
        for place, placed in zip(case.places, place_quotes(case.quotes, case.output, case.source), strict=True):
            n += 1
            outcomes[placed.outcome] += 1
            due[case.outcome] += 1
            assert placed.outcome == case.outcome, (script, kind, placed)
            if placed.span is None:
                assert place is None
                assert len(placed.places) == (2 if case.outcome == "ambiguous" else 0)
                continue
            error = placed.span.error
            text = case.output if error.side == "output" else case.source
            assert ((error.start, error.end), placed.places) == (place, (place,)), (script, kind, placed)
            error.check(text)
            borders = {*grapheme_starts(text), len(text)}
            assert {error.start, error.end} <= borders
    assert outcomes == due
    assert outcomes == {
        "exact": 286, "folded": 236, "fuzzy": 91, "ambiguous": 115, "wrong_side": 91, "not_found": 91, "empty": 90,
    }  # fmt: skip


def place(quote: str, output: str, source: str | None = None, *, side: Side | None = None, context: str = "") -> tuple[str, tuple[tuple[int, int], ...]]:  # fmt: skip
    placed = place_quotes([Quote(quote, "Major", "c", side, context)], output, source)[0]
    return placed.outcome, placed.places


def test_each_rule_of_placing() -> None:
    assert place("the cat", "the cat saw the cat") == ("ambiguous", ((0, 7), (12, 19)))
    assert place("the cat", "the cat saw the cat", context="saw the cat") == ("exact", ((12, 19),))
    assert place("the cat", "The cat saw the cat") == ("exact", ((12, 19),))
    assert place("aa", "aaa") == ("ambiguous", ((0, 2), (1, 3)))
    assert place("istanbul’da", "Yarın İ ISTANBUL'da") == ("folded", ((8, 19),))
    assert place("i̇stanbul", "x İSTANBUL") == ("folded", ((2, 10),))
    assert place("fi", "the ﬁ") == ("folded", ((4, 5),))
    assert place("f", "the ﬁ") == ("not_found", ())
    assert place("cafe", "un cafe\u0301 noir") == ("not_found", ())
    assert place("👩", "die 👩‍🚀 fliegt") == ("not_found", ())
    assert place("क", "क्षमा") == ("not_found", ())
    assert place("Haus", "the house", "das Haus") == ("wrong_side", ())
    assert place("Haus", "Haus", "house", side="source") == ("wrong_side", ())
    assert place("Haus", "the house", "das Haus", side="source") == ("exact", ((4, 8),))
    assert place("Haus", "the house", None) == ("not_found", ())
    # 2 · 11 / (12 + 12) = .917 for the first place; the second has 2 · 10 / 24 = .833, less than .10 below it
    assert place("brown fox ax", "brown fox at brown fix at")[0] == "ambiguous"
    assert place("abc", "abd") == ("not_found", ())
    # whole words, with the letter that the quote has wrong; but no word in place of another one at an end
    assert place("an open day attendeq", "it has an open day attended by many") == ("fuzzy", ((7, 27),))
    assert place("really open day attended by", "it has an open day attended by many") == ("not_found", ())
    assert place("x" * 400 + "y" + "z" * 120, "x" * 400 + "z" * 121) == ("not_found", ())  # too long for the third step
    # 2 · 17 / (20 + 20) = .85 is enough, 2 · 16 / 40 = .8 is not
    assert place("abcdefgxxxklmnopqrst", "abcdefghijklmnopqrst") == ("fuzzy", ((0, 20),))
    assert place("abcdefgxxxxlmnopqrst", "abcdefghijklmnopqrst") == ("not_found", ())


def test_grapheme_clusters() -> None:
    cases = {
        "": 0, "abc": 3, "a\r\nb": 3, "e\u0301a": 2, "👩‍🚀👍🏽": 2, "🇩🇪🇫🇷🇩": 3, "각한글": 3, "\u1112\u1161\u11ab": 1, "क्षमा": 2, "นำ": 1,
        "❤️x": 2, "1️⃣": 1, "🏴󠁧󠁢󠁥󠁮󠁧󠁿.": 2, "\u0600١": 1, "a\u200db": 2, "\n\u0301": 2,
    }  # fmt: skip
    for text, n in cases.items():
        assert len(grapheme_starts(text)) == n, ascii(text)
