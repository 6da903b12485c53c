"""Reword English texts by rule, as examples without error for the NLI model.

Rules: short forms, synonyms, connectives, numbers in words, moving an opening phrase to the end.
"""

from __future__ import annotations

import re
from functools import cache
from random import Random

_SAME = """
do not|don't; does not|doesn't; did not|didn't; is not|isn't; are not|aren't; was not|wasn't; were not|weren't; cannot|can't;
will not|won't; would not|wouldn't; could not|couldn't; should not|shouldn't; has not|hasn't; have not|haven't; it is|it's;
that is|that's; they are|they're; we are|we're; I am|I'm; we have|we've; they have|they've; he is|he's; she is|she's;
although|though; for example|for instance; in addition|furthermore; however|nevertheless; therefore|thus; many|numerous;
a lot of|lots of; nearly|almost; recently|lately; currently|now; need to|have to; begins|starts;
bought|purchased; helped|assisted; helps|assists; large|big; huge|enormous; quickly|rapidly; often|frequently;
important|significant; entire|whole; sufficient|enough; additional|further; children|kids; everyone|everybody; no one|nobody;
showed|demonstrated; received|got; attempted|tried; allowed|permitted; allows|permits; requires|needs; declared|announced;
kept|retained; discussed|talked about; reached|arrived at; happened|occurred; happens|occurs;
managed to|was able to; constructed|built; destroyed|ruined; wishes|wants; wished|wanted; until|till; among|amongst;
toward|towards; in spite of|despite; per cent|percent; US|United States; UK|United Kingdom; EU|European Union;
UN|United Nations; TV|television; company|firm; companies|firms; film|movie; films|movies; road|street; car|automobile;
cars|automobiles; error|mistake; errors|mistakes; answer|reply; aim|goal; idea|notion; area|region; effect|impact;
feelings|sentiments; illness|disease; salary|pay; shop|store; shops|stores; freedom|liberty
"""
_ONE_WAY = """
in order to|to; even though|although; whereas|while; such as|like; more than|over; less than|under; approximately|about;
probably|likely; at present|now; difficult|hard; began|started; chose|selected; purchase|buy; assist|help; principal|main; persons|people; obtain|get;
explained|said; noted|said; stated|said; prior to|before; job|post; autumn|fall; besides|apart from; rarely|seldom; commence|begin
"""


def _entries(listing: str) -> list[tuple[str, str]]:
    return [(a, b) for entry in listing.split(";") for a, _, b in [entry.strip().partition("|")]]


WAYS: tuple[tuple[str, str], ...] = (*_entries(_SAME), *((b, a) for a, b in _entries(_SAME)), *_entries(_ONE_WAY))
"""Pairs of an expression and its replacement."""
_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_NUMBER = re.compile(r"(?<![\w.,$€£\d–-])(?<!\d )(\d{1,3})(?![\w:/–-]|[.,]\d| \d)")
_FRONTED = re.compile(
    r"^((?:In|On|At|During|After|Since|By|For|With|Before|Under) [^,.;:\"“()]{2,45}), ([^,;:\"“()]{12,})\.$"
)
_MARKS = (("“", '"'), ("”", '"'), ("’", "'"), (" – ", " - "), (" — ", " - "), ("; ", ", "), (" - ", ", "))


def reword(text: str, random: Random, most: int = 3) -> str:
    """Return the text with up to `most` + 1 rules tried; unchanged if none applies."""
    out = text
    ways = [_words, _words, _words, _numerals, _moved, _marks]
    random.shuffle(ways)
    for way in ways[: random.randint(1, most) + 1]:
        out = way(out, random)
    return out


def spoken(number: int) -> str:
    """Return a number from 0 to 999 in words."""
    if number < len(_ONES):
        return _ONES[number]
    if number < 100:
        return _TENS[number // 10 - 2] + (f"-{_ONES[number % 10]}" if number % 10 else "")
    rest = f" and {spoken(number % 100)}" if number % 100 else ""
    return f"{_ONES[number // 100]} hundred{rest}"


def _words(text: str, random: Random) -> str:
    fitting = [(match, new) for old, new in WAYS if (match := _finder(old).search(text))]
    if not fitting:
        return text
    match, new = random.choice(fitting)
    new = new[:1].upper() + new[1:] if match.group()[:1].isupper() else new
    return text[: match.start()] + new + text[match.end() :]


@cache
def _finder(old: str) -> re.Pattern[str]:
    """Compile a pattern for an expression; case matters only for expressions with capitals."""
    return re.compile(rf"(?<![\w'’-]){re.escape(old)}(?![\w'’-])", re.IGNORECASE if old.islower() else 0)


def _numerals(text: str, random: Random) -> str:
    matches = list(_NUMBER.finditer(text))
    if not matches:
        return text.replace("%", " percent") if "%" in text else text
    one = random.choice(matches)
    end = text[one.end() :]
    return text[: one.start()] + spoken(int(one.group(1))) + (f" percent{end[1:]}" if end.startswith("%") else end)


def _moved(text: str, random: Random) -> str:
    match = _FRONTED.match(text)
    if not match or random.random() < 0.2:
        return text
    first, rest = match.groups()
    return f"{rest[:1].upper()}{rest[1:]} {first[:1].lower()}{first[1:]}."


def _marks(text: str, random: Random) -> str:
    fitting = [(a, b) for a, b in _MARKS if a in text]
    if not fitting:
        return text
    old, new = random.choice(fitting)
    return text.replace(old, new)
