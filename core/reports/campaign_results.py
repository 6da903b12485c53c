"""Results of a campaign as a table for LaTeX."""

from __future__ import annotations

from core.formatting import MISSING, format_count, format_number
from core.reports.latex import bold, latex_table, latex_text
from core.services.campaigns.comparison import CampaignComparison
from core.stats.bootstrap import Interval
from core.stats.campaign.campaign_scores import Unit

ALPHA = 0.05
UNITS: dict[Unit, str] = {"item": "segments", "document": "documents"}


def interval(value: Interval, digits: int) -> str:
    """Return a value with its interval: "88.1 [86.0, 90.2]"."""
    if value.value is None:
        return value.reason or "undefined"
    shown = format_number(value.value, digits, leading_zero=True)
    if value.low is None or value.high is None:
        return shown
    ends = (format_number(end, digits, leading_zero=True) for end in (value.low, value.high))
    return f"{shown} [{', '.join(ends)}]"


def digits_of(found: CampaignComparison) -> int:
    """Return the decimals of means and differences: one on a scale of 100, else two."""
    return 1 if "100" in found.measure else 2


def as_latex(found: CampaignComparison, name: str) -> str:
    """Return a booktabs table of the systems, best first: means, also standardised and adjusted for raters, or strengths.

    Bold: the best mean and those that are not significantly below it. `name` is that of the campaign.
    """
    b = found.basis
    rests = f"{format_count(b.ratings, 'rating')} of {format_count(b.items, 'segment')} by {format_count(b.raters, 'rater')}"
    if found.votes is not None:
        ranked = sorted(found.votes.strengths, key=lambda s: -(s.strength.value or 0.0))
        rows = [[latex_text(s.system), latex_text(_cell(s.strength, 2)), f"{s.votes:,}"] for s in ranked]
        caption = (
            f"{name}: Bradley–Terry strengths (log odds of being preferred, mean 0) with 95 % bootstrap CIs. {rests}."
        )
        return latex_table(["System", "Strength ↑", "Votes"], [rows], caption)
    tied = _not_below_the_best(found)
    standardised = {s.system: s.mean for s in found.standardised}
    adjusted = {a.system: a for a in found.effects.means} if found.effects else {}
    columns = ["System", "Mean ↑", *(["z ↑"] if standardised else []), *(["Adjusted mean ↑"] if adjusted else [])]
    rows = []
    for m in found.means:
        mean = latex_text(_cell(m.mean, digits_of(found)))
        cells = [latex_text(m.system), bold(mean) if m.system in tied else mean]
        if standardised:
            cells.append(latex_text(_cell(standardised[m.system], 2) if m.system in standardised else MISSING))
        if adjusted:
            a = adjusted.get(m.system)
            cells.append(
                latex_text(MISSING if a is None else _cell(Interval(a.mean, a.low, a.high, a.scores), digits_of(found)))
            )
        rows.append([*cells, f"{m.scores:,}"])
    said = ""
    if len(tied) < len(found.means) and found.differences:
        said = (
            " Bold: not significantly below the best mean (permutation test with random signs over "
            f"{UNITS[found.by]}, two-sided, Holm, p > {format_number(ALPHA, 2)})."
        )
    elif found.differences:
        said = " No difference from the best mean is significant (permutation test with random signs, Holm)."
    z = " z: scores standardised per rater." if standardised else ""
    caption = f"{name}: {found.measure}, with 95 % CIs. {rests}.{z}{said}"
    return latex_table([*columns, "Ratings"], [rows], caption)


def _not_below_the_best(found: CampaignComparison) -> set[str]:
    """Return the best system and those whose difference from it is tested and not significant; nothing if all are, or none is."""
    if not found.means or not found.differences:
        return set()
    best = found.means[0].system
    beaten = {
        system
        for d in found.differences
        if best in (d.first, d.second) and d.adjusted is not None and d.adjusted <= ALPHA
        for system in (d.first, d.second)
        if system != best
    }
    return {m.system for m in found.means} - beaten


def _cell(value: Interval, digits: int) -> str:
    return MISSING if value.value is None else interval(value, digits)
