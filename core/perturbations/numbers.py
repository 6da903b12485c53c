"""Number errors: each number is replaced by another of the same form (Chen and Eger 2023, §3).

As published, numbers in dates stay. Our extension: if a text has no other numbers, one year is replaced by a plausible other
year, because years are where models make most number errors. Numbers in names (Apollo 11, Group of Seven) and numbers of list
items stay too; if two numbers are compared (20 to 40), the lower one stays the lower one.
"""

from __future__ import annotations

import re
from itertools import pairwise
from random import Random

from core.english.analysis import ParsedText
from core.perturbations.base import Edits
from core.text.edits import Edit, Refused

_NUMBER = re.compile(r"(\d+(?:,\d{3})*)(\.\d+)?(s|m|bn|k|km|st|nd|rd|th)?")
_YEAR = re.compile(r"(1[0-9]|20)\d\d")
_MONTHS = frozenset(
    """january february march april may june july august september october november december
    jan. feb. mar. apr. aug. sept. sep. oct. nov. dec.""".split()
)
_DATE_WORDS = frozenset(
    "in since by from until till before after during early late mid of the between to and year".split()
)
_AFTER_HOUR = frozenset("a.m. p.m. am pm o'clock gmt / :".split())
_LATEST = 2026
_MOST_DIGITS = 30
"""Longer digit strings are not quantities."""
_SMALL = "two three four five six seven eight nine".split()
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_SCALES = frozenset("hundred thousand million billion trillion percent %".split())
_VALUES = {word: value for value, word in enumerate(["one", *_SMALL, *_TEENS], start=1)} | {
    word: 10 * value for value, word in enumerate(_TENS, start=2)
}
_TIMES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_BETWEEN = frozenset("to or of out in the every - – — % percent per cent $ € £".split()) | frozenset(_TIMES)
"""What can stand between two compared numbers, besides `and` after `between`."""
_TRIES = 30
_CURRENCIES = frozenset("usd eur gbp chf jpy rs".split())
_PLAIN = ("IN", "DT", "TO", "CC", "RB", "RBR", "PRP", "PRP$", "MD", "WRB", "WDT", "WP", "EX")
"""Tags of words that are not part of a name, even if capitalised."""
_SUFFIXES = ("th", "st", "nd", "rd", "th", "th", "th", "th", "th", "th")


def change_numbers(r: ParsedText, random: Random) -> Edits:
    groups: list[list[int]] = []
    years: list[int] = []
    for i in range(len(r.words)):
        if _value(r.low(i)) is None or _in_date(r, i) or _in_name(r, i) or _in_list(r, i):
            continue
        if r.low(i)[0].isdigit() and _is_year(r, i):
            years.append(i)
        elif groups and _together(r, groups[-1][-1], i):
            groups[-1].append(i)
        else:
            groups.append([i])
    edits: list[Edit] = []
    for group in groups:
        for i, new in zip(group, _drawn(r, group, random), strict=False):
            edits += [r.replace(i, new), *r.article(i, new)] if new else []
    if edits:
        return edits
    if years:
        i = random.choice(years)
        return [r.replace(i, _year(r.low(i), random, decade=_is_decade(r, i)))]
    return Refused("no number outside dates and names" if any(c.isdigit() for c in r.text) else "no number")


def _drawn(r: ParsedText, group: list[int], random: Random) -> list[str]:
    """Draw new numbers for a group, "" for one that stays; empty if no draw keeps their order."""
    times = [_TIMES.get(r.low(i + 1), 1) for i in group]
    old = [(_value(r.low(i)) or 0) * n for i, n in zip(group, times, strict=True)]
    for _ in range(_TRIES):
        new = [_other(r, i, random) for i in group]
        drawn = [(_value(word or r.low(i)) or 0) * n for i, word, n in zip(group, new, times, strict=True)]
        both = zip(pairwise(old), pairwise(drawn), strict=True)
        if all((a < b, a > b) == (c < d, c > d) for (a, b), (c, d) in both):
            return new
    return []


def _other(r: ParsedText, i: int, random: Random) -> str:
    match = _NUMBER.fullmatch(r.low(i))
    return _digits(match, random, singular=_counts_one(r, i)) if match else _word(r, i, random)


def _together(r: ParsedText, first: int, second: int) -> bool:
    """Return whether two numbers form a range or share: 20 to 40, two of the five, between 5 and 10."""
    if not 1 < second - first <= 5:
        return False
    inner = set(r.lows(first + 1, second))
    return inner <= (_BETWEEN | {"and"} if r.low(first - 1) == "between" else _BETWEEN)


def _value(low: str) -> float | None:
    """Return the value of a number in digits or words; None for other words."""
    if match := _NUMBER.fullmatch(low):
        whole, decimals = match.group(1).replace(",", ""), match.group(2) or ""
        return float(whole + decimals) if len(whole + decimals) <= _MOST_DIGITS else None
    tens, _, ones = low.partition("-")
    if tens not in _VALUES or (ones and (tens not in _TENS or ones not in _VALUES)):
        return None
    return _VALUES[tens] + _VALUES.get(ones, 0)


def _is_year(r: ParsedText, i: int) -> bool:
    low = r.low(i)
    bare = low.removesuffix("s")
    if not _YEAR.fullmatch(bare) or r.low(i - 1) in ("$", "€", "£", "about", "some", "over", "nearly", "only"):
        return False
    if low.endswith("s") or r.low(i - 1) in _DATE_WORDS | _MONTHS | {",", "(", "-", "–", "—", ""}:
        return r.low(i + 1) not in _SCALES and not (
            r.tag(i + 1) == "NNS" and r.low(i - 1) not in ("the", "in", "since")
        )
    return r.tag(i + 1) not in ("NN", "NNS", "JJ") and r.low(i + 1) not in _SCALES


def _is_decade(r: ParsedText, i: int) -> bool:
    """Return whether token i is a decade: 1970s, 1970’s."""
    low = r.low(i)
    return low.endswith("s") or (low.endswith("0") and r.low(i + 1) == "'s")


def _in_date(r: ParsedText, i: int) -> bool:
    """Return whether token i is a day next to its month, a time of day, or an hour."""
    after = i + 3 if r.low(i + 1) in ("-", "–", "—", "to", "and", "or") and r.low(i + 2).isdigit() else i + 1
    for month in (i - 1, i + 1, after):
        sure = r.low(month) not in ("may", "march") or r.word(month)[0].isupper() or r.words[i].entity == "DATE"
        if r.low(month) in _MONTHS and sure and len(r.low(i)) <= 4:
            return not _YEAR.fullmatch(r.low(i))
    if r.low(i + 1) == "of" and r.low(i + 2) in _MONTHS:
        return True
    return r.low(i - 1) in ("/", ":") or r.low(i + 1) in _AFTER_HOUR


def _in_name(r: ParsedText, i: int) -> bool:
    """Return whether the number belongs to a name: glued to a letter or hyphen (G20, COVID-19), part of a match score, next
    to a capitalised word (G 20, Six Day War) or another number (04622 1183)."""
    token = r.words[i]
    left = r.text[token.start - 1 : token.start]
    right = r.text[token.end : token.end + 1]
    if (left and (left.isalnum() or left in "-–_.'’#")) or right in ("-", "–", "_", "/"):
        return True
    if any(r.adjoins(j) and r.low(j)[:1].isdigit() and r.low(j - 1)[-1:].isdigit() for j in (i, i + 1)):
        return True
    followed = _capital(r, i + 1) and r.tag(i + 1) in ("NN", "NNS", "NNP", "NNPS", "JJ")
    if token.text[0].isupper() and (followed or not r.starts_sentence(i)):
        return True
    if r.low(i - 1) == "of" and r.low(i - 2) == "group" and _capital(r, i - 2):
        return True
    if _capital(r, i + 1) and r.tag(i + 1) == "NNP" and r.low(i + 1) not in _MONTHS | _CURRENCIES:
        return True
    return _capital(r, i - 1) and r.low(i - 1) not in _MONTHS | _CURRENCIES and _names(r, i - 1)


def _capital(r: ParsedText, i: int) -> bool:
    return r.word(i)[:1].isupper()


def _names(r: ParsedText, i: int) -> bool:
    """Return whether the capital of a word is not just that of its sentence."""
    return r.tag(i).startswith("NN") or not (r.starts_sentence(i) or r.tag(i) in _PLAIN)


def _in_list(r: ParsedText, i: int) -> bool:
    """Return whether token i numbers a list item at the start of a line or sentence: 1. or 2) or (3)."""
    bracket = r.low(i - 1) == "("
    first = i - bracket
    before = r.text[r.words[first - 1].end : r.words[first].start] if first else "\n"
    if "\n" not in before and first != r.places[first][0]:
        return False
    return r.low(i + 1) in ((")",) if bracket else (".", ")"))


def _counts_one(r: ParsedText, i: int) -> bool:
    return r.tag(i + 1) in ("NN", "NNP", "JJ", "NNPS") and r.low(i + 1) not in _SCALES


def _digits(match: re.Match[str], random: Random, *, singular: bool) -> str:
    """Return another number with the same count of digits, commas and trailing zeros. 0 stays, and so does 1 if a noun agrees
    with it."""
    whole, decimals, unit = match.group(1), match.group(2) or "", match.group(3) or ""
    old = int(whole.replace(",", ""))
    count = len(whole.replace(",", ""))
    if whole != str(old) and "," not in whole:
        return ""
    if not decimals and not unit and (old == 0 or (old == 1 and singular)):
        return ""
    low, high = (2 if not decimals else 0, 9) if count == 1 else (10 ** (count - 1), 10**count - 1)
    if unit in ("st", "nd", "rd", "th"):
        low, high, decimals = max(low, 1), min(high, 30) if old <= 30 else high, ""
    zeros = count - len(str(old).rstrip("0")) if old and count > 2 else 0
    step = 10**zeros
    new = old
    while new == old:
        new = random.randint(-(-low // step), high // step) * step
    shown = f"{new:,}" if "," in whole else str(new)
    if decimals:
        fraction = random.randint(1, 10 ** (len(decimals) - 1) - 1) if len(decimals) > 1 else 0
        return f"{shown}.{fraction:0{len(decimals) - 1}d}{unit}"
    if unit in ("st", "nd", "rd", "th"):
        unit = "th" if 10 <= new % 100 <= 20 else _SUFFIXES[new % 10]
    return shown + unit


def _year(low: str, random: Random, *, decade: bool) -> str:
    """Return another year within 30 years in the same century, in the future only if the old one is; for a decade, another
    decade."""
    bare = low.removesuffix("s")
    old, unit = int(bare), low[len(bare) :]
    step = 10 if decade else 1
    century = old - old % 100
    choice = [
        y
        for y in range(old - 30, old + 31)
        if y != old and y - y % 100 == century and (y <= _LATEST or old > _LATEST) and (y - old) % step == 0
    ]
    return f"{random.choice(choice)}{unit}"


def _word(r: ParsedText, i: int, random: Random) -> str:
    low = r.low(i)
    if low == "one":
        return random.choice(_SMALL) if r.low(i + 1) in _SCALES else ""
    if low in _SMALL:
        if r.low(i + 1) == "'s" or (low == "two" and r.low(i - 1) in ("between", "these", "those")):
            return ""
        return random.choice([w for w in _SMALL if w != low])
    if low in _TEENS:
        return random.choice([w for w in _TEENS if w != low])
    tens, _, ones = low.partition("-")
    if tens in _TENS and (not ones or ones in _SMALL or ones == "one"):
        new = random.choice([w for w in _TENS if w != tens])
        return f"{new}-{random.choice(_SMALL)}" if ones else new
    return ""
