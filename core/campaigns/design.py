"""The design of a campaign: everything that its manager decides before it starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal, NamedTuple

from pydantic import TypeAdapter, ValidationError

from core.campaigns.protocol import PROTOCOLS, Protocol
from core.campaigns.suggestions import Suggestions, check_ranges
from core.data import OutputKey, SegmentKey, Span
from core.errors import UserError

Assigning = Literal["fixed", "dynamic"]


class TutorialItem(NamedTuple):
    """An output of which the right labels are known, shown before the first unit. `feedback` is told after the submission."""

    key: OutputKey
    errors: tuple[Span, ...] = ()
    score: tuple[float, float] | None = None
    feedback: str = ""


@dataclass(frozen=True, slots=True)
class CampaignDesign:
    """`overlap` is k, the number of distinct raters of each unit; `people` how many are planned.

    `systems` () means all, `segments` () all of the project. `block_size` is the largest number of consecutive segments of a document
    that one person gets together. A unit that was opened and not submitted for `lease_minutes` is given to somebody else.
    `checks` and `repeats` are shares of the units, in [0, 0.5]. `importance` by document (default 1) makes some more likely
    to be drawn first. Times and pay are for the estimate and the pay table. `title` is the name that annotators see, and `finish_by`
    the deadline that they see: nothing ends by itself then. `suggestions` are None if annotators begin with empty outputs.
    """

    protocol: Protocol = PROTOCOLS["esa"]
    systems: tuple[str, ...] = ()
    segments: tuple[SegmentKey, ...] = ()
    overlap: int = 1
    people: int = 1
    assigning: Assigning = "dynamic"
    block_size: int = 10
    lease_minutes: int = 60
    seed: int = 0
    checks: float = 0.0
    repeats: float = 0.0
    tutorial: tuple[TutorialItem, ...] = ()
    pass_mark: float = 0.0
    importance: Mapping[str, float] = field(default_factory=dict)
    seconds_per_unit: float = 60.0
    pay_per_hour: float = 0.0
    currency: str = "EUR"
    title: str = ""
    finish_by: date | None = None
    suggestions: Suggestions | None = None

    @property
    def shown_title(self) -> str:
        """Return the name that annotators see. The name of a campaign may name systems, so it is not shown by itself."""
        return self.title or self.protocol.title

    def check(self) -> None:
        """Raise `UserError` for a design that cannot be carried out."""
        check_ranges(
            ("raters per unit", self.overlap, 1, 20),
            ("people", self.people, 1, 10_000),
            ("segments in a block", self.block_size, 1, 1000),
            ("minutes until a unit is given to somebody else", self.lease_minutes, 1, 60 * 24 * 14),
            ("share of attention checks", self.checks, 0, 0.5),
            ("share of repeats", self.repeats, 0, 0.5),
            ("pass mark", self.pass_mark, 0, 1),
        )
        if self.suggestions is not None:
            self.suggestions.check()
            if "spans" not in self.protocol.asks:
                raise UserError(
                    "this protocol asks for no error spans, so there is nothing to suggest", got=self.protocol.title,
                    hint="Choose another protocol, or no suggestions",
                )  # fmt: skip
        if self.overlap > self.people:
            raise UserError(
                f"{self.overlap} distinct raters per unit need at least {self.overlap} people", got=str(self.people),
                hint="Plan more people, or fewer raters per unit",
            )  # fmt: skip
        if any(not w > 0 for w in self.importance.values()):
            raise UserError("the importance of a document must be positive", hint="Leave documents out instead")


_FORM = TypeAdapter(CampaignDesign)


def design_to_json(design: CampaignDesign) -> dict[str, Any]:
    """Return the design as plain values for `design_from_json`."""
    plain: dict[str, Any] = _FORM.dump_python(design, mode="json")
    return plain


def design_from_json(stored: Mapping[str, Any]) -> CampaignDesign:
    """Return a design from plain values. Raises `UserError` for the first field that is wrong."""
    try:
        design = _FORM.validate_python(dict(stored))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UserError("the design of the campaign is not valid", where=where, got=first["msg"]) from error
    design.check()
    return design
