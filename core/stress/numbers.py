"""Number errors: every number gives way to another of the same shape.

As published, numbers that belong to a date stay. A text that has no others gets a plausible other year instead: that is ours,
for years are where models get numbers wrong most often.
"""

from __future__ import annotations

import re
from random import Random

from core.stress.base import Edit, Outcome, Perturbation, Refused
from core.stress.english import Parsed, english

_NUMBER = re.compile(r"(\d+(?:,\d{3})*)(\.\d+)?(s|m|bn|k|km|st|nd|rd|th)?")
_YEAR = re.compile(r"(1[0-9]|20)\d\d")
_MONTHS = frozenset(
    """january february march april may june july august september october november december
    jan. feb. mar. apr. aug. sept. sep. oct. nov. dec.""".split()
)
_DATE_WORDS = frozenset(
    "in since by from until till before after during early late mid of the between to and year".split()
)
_LATEST = 2026
_SMALL = "two three four five six seven eight nine".split()
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_SCALES = frozenset("hundred thousand million billion trillion percent %".split())
_SUFFIXES = ("th", "st", "nd", "rd", "th", "th", "th", "th", "th", "th")


def _others(parsed: Parsed, random: Random) -> Outcome | list[Edit]:
    edits: list[Edit] = []
    years: list[int] = []
    for i in range(parsed.n):
        low = parsed.low(i)
        if low[0].isdigit():
            found = _NUMBER.fullmatch(low)
            if found is None or _in_date(parsed, i) or _in_name(parsed, i):
                continue
            if _is_year(parsed, i, low):
                years.append(i)
            else:
                new = _digits(found, random, singular=_counts_one(parsed, i))
                edits += [parsed.replace(i, new), *parsed.article(i, new)] if new else []
        elif new := _word(parsed, i, random):
            edits += [parsed.replace(i, new), *parsed.article(i, new)]
    if edits:
        return edits
    if years:
        i = random.choice(years)
        return [parsed.replace(i, _year(parsed.low(i), random))]
    return Refused("no number but in dates and names" if any(c.isdigit() for c in parsed.text) else "no number")


def _is_year(parsed: Parsed, i: int, low: str) -> bool:
    bare = low.removesuffix("s")
    if not _YEAR.fullmatch(bare) or parsed.low(i - 1) in ("$", "€", "£", "about", "some", "over", "nearly", "only"):
        return False
    if low.endswith("s") or parsed.low(i - 1) in _DATE_WORDS | _MONTHS | {",", "(", "-", "–", "—", ""}:
        return parsed.low(i + 1) not in _SCALES and not (
            parsed.tag(i + 1) == "NNS" and parsed.low(i - 1) not in ("the", "in", "since")
        )
    return parsed.tag(i + 1) not in ("NN", "NNS", "JJ") and parsed.low(i + 1) not in _SCALES


def _in_date(parsed: Parsed, i: int) -> bool:
    """A day beside its month, a time of day, an hour of the clock."""
    around = {parsed.low(i - 1), parsed.low(i + 1)}
    if around & (_MONTHS - {"may", "march"}) and len(parsed.low(i)) <= 4:
        return not _YEAR.fullmatch(parsed.low(i))
    if {parsed.word(i - 1), parsed.word(i + 1)} & {"May", "March"}:
        return not _YEAR.fullmatch(parsed.low(i))
    if parsed.low(i + 1) == "of" and parsed.low(i + 2) in _MONTHS:
        return True
    return parsed.low(i + 1) in ("a.m.", "p.m.", "am", "pm", "o'clock", "gmt", "/", ":") or parsed.low(i - 1) in (
        "/",
        ":",
    )


def _in_name(parsed: Parsed, i: int) -> bool:
    """Glued to a letter or a hyphen (G 20, COVID-19), or the score of a match."""
    token = parsed.tokens[i]
    left = parsed.text[token.start - 1 : token.start]
    right = parsed.text[token.end : token.end + 1]
    return bool(left and (left.isalnum() or left in "-–_.'’#")) or right in ("-", "–", "_", "/") and bool(right)


def _counts_one(parsed: Parsed, i: int) -> bool:
    return parsed.tag(i + 1) in ("NN", "NNP", "JJ", "NNPS") and parsed.low(i + 1) not in _SCALES


def _digits(found: re.Match[str], random: Random, *, singular: bool) -> str:
    """As many digits as there were, the commas where they were, as round as it was; 0 is left, and 1 where a noun agrees with it."""
    whole, decimals, unit = found.group(1), found.group(2) or "", found.group(3) or ""
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
    if decimals:
        fraction = random.randint(1, 10 ** (len(decimals) - 1) - 1) if len(decimals) > 1 else 0
        return f"{new}.{fraction:0{len(decimals) - 1}d}{unit}"
    if unit in ("st", "nd", "rd", "th"):
        unit = "th" if 10 <= new % 100 <= 20 else _SUFFIXES[new % 10]
    return (f"{new:,}" if "," in whole else str(new)) + unit


def _year(low: str, random: Random) -> str:
    """Another year within 30 of the old one, in its century, and not to come unless the old one was; of a decade, another decade."""
    bare = low.removesuffix("s")
    old, unit = int(bare), low[len(bare) :]
    step = 10 if unit or (old % 10 == 0 and unit) else 1
    century = old - old % 100
    choice = [
        y
        for y in range(old - 30, old + 31)
        if y != old and y - y % 100 == century and (y <= _LATEST or old > _LATEST) and (y - old) % step == 0
    ]
    return f"{random.choice(choice)}{unit}"


def _word(parsed: Parsed, i: int, random: Random) -> str:
    low = parsed.low(i)
    if low == "one":
        return random.choice(_SMALL) if parsed.low(i + 1) in _SCALES else ""
    if low in _SMALL:
        if parsed.low(i + 1) in ("'s",) or (low == "two" and parsed.low(i - 1) in ("between", "these", "those")):
            return ""
        return random.choice([w for w in _SMALL if w != low])
    if low in _TEENS:
        return random.choice([w for w in _TEENS if w != low])
    tens, _, ones = low.partition("-")
    if tens in _TENS and (not ones or ones in _SMALL or ones == "one"):
        new = random.choice([w for w in _TENS if w != tens])
        return f"{new}-{random.choice(_SMALL)}" if ones else new
    return ""


NUMBER = Perturbation(
    name="number",
    family="numbers",
    phenomenon="Number error",
    kind="adequacy",
    paper="Chen and Eger 2023, §3",
    help="Every number but those of dates becomes another of the same shape; where there are only years, one of them does",
    change=english(_others),
    code="num",
)
