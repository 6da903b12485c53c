"""Named, versioned weight schemes: the penalty of each error.

`google` is the scheme of Freitag et al. 2021 as released with mt-metrics-eval. `marot` gives source errors and
creative reinterpretation a weight of 0, like the Marot viewer. `flat` uses the severity only.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from typing import NamedTuple

from core.errors import UserError
from core.mqm.typology import is_non_translation, plain
from core.signature import signature

ANY = ""


class WeightRule(NamedTuple):
    """The weight of errors of `severity` in `category` and its subcategories; "" stands for any.

    The rule with the deepest category applies; on ties, one with a named severity.
    """

    severity: str
    category: str
    weight: float

    @property
    def errors(self) -> tuple[str, str]:
        """Return severity and category in the form in which they are compared."""
        return plain(self.severity), plain(self.category)


@dataclass(frozen=True, slots=True)
class Scheme:
    """Weights ≥ 0 (penalties).

    A Non-translation error has the penalty `non_translation` at any severity and replaces the rater's other errors on that
    output.
    """

    name: str
    version: int
    rules: tuple[WeightRule, ...]
    non_translation: float | None = 25.0

    def __post_init__(self) -> None:
        costs = [r.weight for r in self.rules] + ([] if self.non_translation is None else [self.non_translation])
        if bad := [c for c in costs if not (math.isfinite(c) and c >= 0)]:
            raise UserError(
                "a weight must be a number of 0 or more", where=f"weight scheme {self.name}", got=str(bad[0])
            )

    @property
    def severities(self) -> tuple[str, ...]:
        """Return the severities of the scheme, as spelled in its rules."""
        return tuple(dict.fromkeys(r.severity for r in self.rules if r.severity))

    def weight(self, severity: str, category: str) -> float:
        """Return the penalty of one error. Raises `UserError` for an unknown severity."""
        if self.non_translation is not None and is_non_translation(category):
            return self.non_translation
        known = plain(severity) in {plain(s) for s in self.severities}
        path = plain(category)
        fits = [
            (rule.category.count("/") + 1 if rule.category else 0, rule.severity != ANY, rule.weight)
            for rule in self.rules
            if plain(rule.severity) in (ANY, plain(severity)) and _below(path, plain(rule.category))
        ]
        if not known or not fits:
            raise UserError(
                "there is no weight for this severity",
                where=f"weight scheme {self.name}",
                got=repr(severity),
                expected=", ".join(self.severities),
                hint="Correct the label, or add a rule for this severity to the scheme",
            )
        return max(fits)[2]

    def signature(self) -> str:
        """Return the signature, such as `mqm|scheme:google|v:2`; a user-defined scheme adds a hash of its rules."""
        options: dict[str, object] = {"scheme": self.name, "v": self.version}
        if SCHEMES.get(self.name) != self:
            rules = json.dumps([self.rules, self.non_translation], ensure_ascii=False)
            options["rules"] = hashlib.sha256(rules.encode()).hexdigest()[:8]
        return signature("mqm", options)


def _below(path: str, ancestor: str) -> bool:
    return not ancestor or path == ancestor or path.startswith(ancestor + "/")


SEVERITY_RULES = (WeightRule("Major", ANY, 5.0), WeightRule("Minor", ANY, 1.0), WeightRule("Neutral", ANY, 0.0))
_PUNCTUATION = ("Linguistic conventions/Punctuation", "Fluency/Punctuation")
"""Minor punctuation: in the typology of MQM 2.0, whose names Appraise uses, and in Google's."""
GOOGLE = Scheme("google", 2, (*SEVERITY_RULES, *(WeightRule("Minor", category, 0.1) for category in _PUNCTUATION)))
_NO_PENALTY = ("Source error", "Source issue", "Accuracy/Creative reinterpretation")
MAROT = Scheme("marot", 2, (*GOOGLE.rules, *(WeightRule(ANY, category, 0.0) for category in _NO_PENALTY)))
FLAT = Scheme("flat", 1, SEVERITY_RULES, non_translation=None)
SCHEMES: dict[str, Scheme] = {s.name: s for s in (GOOGLE, MAROT, FLAT)}


def scheme(name: str) -> Scheme:
    """Return the built-in scheme of that name. Raises `UserError` with the known names for an unknown one."""
    found = SCHEMES.get(name.strip().lower())
    if found is None:
        raise UserError("there is no such weight scheme", got=repr(name), expected=", ".join(SCHEMES))
    return found
