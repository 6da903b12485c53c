"""Results of a campaign in sentences, tables, LaTeX and plain text."""

from __future__ import annotations

from functools import partial
from typing import Any

from core.campaigns.imported import attention, campaign_agreement, ranking, slider_means, times
from core.formats.campaigns.campaign_file import CampaignFile
from core.formatting import MISSING, format_count, format_number, isolated, with_interval
from core.reports.latex import bold, latex_table, latex_text
from core.services.campaigns.comparison import VERSION, CampaignComparison, mean_detectable
from core.stats.bootstrap import Interval, method_of
from core.stats.campaign.campaign_scores import Unit
from core.stats.campaign.paired_differences import DRAWS, smallest_adjusted_p
from core.stats.campaign.preferences import PreferenceResult, SystemStrength, WinRate

ALPHA = 0.05
SMALL_P = 0.001
"""A smallest possible p below this is not named."""
MOST_DRAWN = 30
"""Differences in a chart."""
UNITS: dict[Unit, str] = {"item": "segments", "document": "documents"}


def interval(value: Interval, digits: int) -> str:
    """Return a value with its interval: "88.1 [86.0, 90.2]"."""
    if value.value is None:
        return value.reason or "undefined"
    form = partial(format_number, digits=digits, leading_zero=True)
    return with_interval(form(value.value), value.low, value.high, form)


def digits_of(comparison: CampaignComparison) -> int:
    """Return the decimals of means and differences: one on a scale of 100, else two."""
    return 1 if "100" in comparison.measure else 2


def ranked_strengths(votes: PreferenceResult) -> list[SystemStrength]:
    """Return the strengths, best first."""
    return sorted(votes.strengths, key=lambda s: -(s.strength.value or 0.0))


def sentence(comparison: CampaignComparison) -> str:
    """Return the main result in one sentence."""
    if comparison.votes is not None:
        ranked = ranked_strengths(comparison.votes)
        if not ranked or ranked[0].strength.value is None:
            return "The strengths of the systems are not defined yet"
        return f"{isolated(ranked[0].system)} is preferred most: strength {interval(ranked[0].strength, 2)}"
    if not comparison.means:
        return "No system has a score yet"
    best = comparison.means[0]
    beaten: list[str] = []
    open_: list[str] = []
    for d in comparison.differences:
        if best.system in (d.first, d.second):
            other = d.second if d.first == best.system else d.first
            (beaten if d.adjusted is not None and d.adjusted <= ALPHA else open_).append(other)
    said = f"{isolated(best.system)} has the highest mean: {interval(best.mean, 1)}"
    if beaten and not open_:
        return f"{said}, significantly above all others"
    if beaten:
        return f"{said}, significantly above {', '.join(map(isolated, beaten))}, not above {', '.join(map(isolated, open_))}"
    if open_ and (why := too_few_units(comparison)):
        return f"{said}. {why}"
    return f"{said}. No difference from the others is significant" if open_ else said


def too_few_units(comparison: CampaignComparison) -> str:
    """Return why no difference can be significant, without a full stop; "" if one can."""
    smallest = smallest_adjusted_p(comparison.differences)
    if smallest is None or smallest <= ALPHA:
        return ""
    most = max(d.test.n for d in comparison.differences)
    pairs = format_count(len(comparison.differences), "pair")
    return f"No difference can be significant with {format_count(most, UNITS[comparison.by][:-1])}: the smallest possible p is {format_p(smallest)} (Holm, {pairs})"


def basis(comparison: CampaignComparison, *, running: bool, named: bool) -> str:
    """Return what the results rest on; excluded annotators are counted, unless they may be `named`."""
    b = comparison.basis
    parts = [
        f"{format_count(b.ratings, 'rating')} of {format_count(b.items, 'segment')} in {format_count(b.documents, 'document')} by "
        f"{format_count(b.raters, 'rater')}"
    ]
    low, high = b.weights
    parts.append(
        "equal weights" if high - low < 1e-9 else f"weights {low:.2f} to {high:.2f} by probability of being drawn"
    )
    if b.adjudicated:
        parts.append(f"{format_count(b.adjudicated, 'unit')} decided after disagreement")
    if b.declined:
        parts.append(f"{format_count(b.declined, 'rating')} left out because the annotator could not judge")
    if b.excluded:
        names = ", ".join(f"{name} ({why})" for name, why in b.excluded.items())
        parts.append(f"excluded: {names if named else format_count(len(b.excluded), 'annotator')}")
    if running:
        parts.append("still running, up to a minute old")
    return f"{' · '.join(parts)} · seed {b.seed} · version {VERSION}"


def methods(comparison: CampaignComparison) -> str:
    """Return a paragraph that states every choice behind the numbers."""
    b, over = comparison.basis, UNITS[comparison.by]
    said = [
        f"{format_count(b.ratings, 'rating')} of {format_count(b.items, 'segment')} in {format_count(b.documents, 'document')} by "
        f"{format_count(b.raters, 'annotator')} were compared: {comparison.measure}."
    ]
    if comparison.votes is not None:
        said.append(
            "Bradley–Terry strengths are log odds of being preferred, with mean 0; ties count half (Hunter 2004). Intervals are 95 % "
            "bootstrap CIs over segments."
        )
    else:
        said.append(
            "Means of systems are weighted with 1 / the probability that an output was drawn (Hájek 1971). Intervals are 95 % bootstrap CIs "
            f"over {over}."
        )
    if comparison.differences:
        said.append(
            "Differences use only segments with scores of both systems. They were tested two-sided by a permutation test with random signs "
            f"over {over} ({DRAWS:,} draws, or all signs where there are few), with Holm's correction over "
            f"{format_count(len(comparison.differences), 'pair')}, at {ALPHA:g}; the CI of a difference is from the same test."
        )
    if comparison.effects is not None and not comparison.effects.reason:
        said.append(
            "Adjusted means are from a mixed model: score = system + segment + output + annotator + rest (REML). z-scores remove the mean "
            "and spread of each annotator." + without_z_scores(comparison)
        )
    if b.adjudicated:
        said.append(
            f"{format_count(b.adjudicated, 'unit')} on which annotators disagreed {'has' if b.adjudicated == 1 else 'have'} a decision, "
            "which counts as one rating in place of theirs."
        )
    said.append(f"Seed {b.seed}, version {VERSION} of the statistics.")
    return " ".join(said)


def without_z_scores(comparison: CampaignComparison) -> str:
    """Return a sentence, with a space before it, on the annotators whose scores have no z-scores; empty if there are none."""
    n = comparison.without_z
    return (
        f" {format_count(n, 'annotator')} who gave one score, or always the same, cannot be standardised and {'is' if n == 1 else 'are'} left out of z-scores."
        * bool(n)
    )


def agreement(comparison: CampaignComparison) -> str:
    """Return the agreement of the annotators in a sentence without a full stop, or why it is undefined."""
    a = comparison.agreement
    if a.value is None:
        return f"Agreement is not defined: {a.reason}"
    return f"Krippendorff's α = {interval(a, 2)} on {format_count(a.n, 'segment')} with two or more raters"


def agreed_on(comparison: CampaignComparison) -> str:
    """Return what the annotators' agreement is computed on: "ESA", "MQM score" or "preferences"."""
    return "preferences" if comparison.votes is not None else comparison.measure.partition(",")[0]


def mean_rows(comparison: CampaignComparison) -> list[dict[str, Any]]:
    """Return the rows of the chart of means, best first; with preferences those of strengths."""
    of, digits = [(m.system, m.mean) for m in comparison.means], digits_of(comparison)
    if comparison.votes is not None:
        of, digits = (
            [(s.system, s.strength) for s in ranked_strengths(comparison.votes) if s.strength.value is not None],
            2,
        )
    return [
        {"system": name, "value": v.value, "low": v.low, "high": v.high, "shown": interval(v, digits)} for name, v in of
    ]


def system_rows(comparison: CampaignComparison) -> list[dict[str, str]]:
    """Return the rows of the table of means, best first, with means adjusted for annotators if they are defined."""
    digits = digits_of(comparison)
    adjusted = {a.system: a for a in comparison.effects.means} if comparison.effects else {}
    z = {m.system: m for m in comparison.standardised}
    rows = []
    for m in comparison.means:
        a, standard = adjusted.get(m.system), z.get(m.system)
        row = {"system": m.system, "mean": _cell(m.mean, digits)}
        if adjusted:
            row["adjusted mean"] = _cell(Interval(a.mean, a.low, a.high, a.scores), digits) if a else MISSING
            row["mean z-score"] = format_number(standard.mean.value if standard else None, 2, leading_zero=True)
        rows.append(row | {"ratings": f"{m.scores:,}"})
    return rows


def difference_rows(comparison: CampaignComparison) -> tuple[list[dict[str, str]], list[dict[str, Any]]]:
    """Return the rows of the table of differences, by rank and with the better system first, and those of its chart."""
    digits, rank = digits_of(comparison), [m.system for m in comparison.means]
    rows, chart = [], []
    for d in sorted(comparison.differences, key=lambda d: sorted((rank.index(d.first), rank.index(d.second)))):
        value, low, high = d.interval.value, d.interval.low, d.interval.high
        first, second = d.first, d.second
        if rank.index(first) > rank.index(second):
            first, second = second, first
            value, low, high = (None if x is None else -x for x in (value, high, low))
        shown = interval(d.interval._replace(value=value, low=low, high=high), digits)
        p = format_p(d.adjusted)
        rows.append({
            "pair": f"{first} − {second}", "difference [95 % CI]": shown, "p": format_p(d.test.p), "p (Holm)": p,
            "segments": f"{d.shared}", "detectable": format_number(d.detectable, digits, leading_zero=True),
            "note": d.caution or d.test.reason or d.detectable_reason,
        })  # fmt: skip
        if value is not None:
            significant = d.adjusted is not None and d.adjusted <= ALPHA
            chart.append({
                "pair": f"{first} − {second}", "value": value, "low": low, "high": high, "shown": shown, "p": p,
                "significant": significant,
            })  # fmt: skip
    return rows, chart


def draws_differences(chart: list[dict[str, Any]]) -> bool:
    """Return whether a chart of these differences can be read."""
    return bool(chart) and len(chart) <= MOST_DRAWN


def difference_legend(comparison: CampaignComparison, chart: list[dict[str, Any]]) -> str:
    """Return what the colours and columns of the differences mean."""
    known = mean_detectable(comparison.differences)
    said = []
    if any(one["significant"] for one in chart):
        said += ["Blue: significant (Holm, p ≤ .05)."] if draws_differences(chart) else []
    elif chart:
        said.append(f"{too_few_units(comparison) or 'No difference is significant (Holm, p ≤ .05)'}.")
    smallest = smallest_adjusted_p(comparison.differences)
    if smallest is not None and SMALL_P <= smallest <= ALPHA:
        said.append(f"Smallest possible p: {format_p(smallest)} (Holm).")
    if known is not None:
        shown = format_number(known, digits_of(comparison), leading_zero=True)
        said.append(f"Detectable: the smallest difference found with 80 % power, on average {shown}.")
    return " ".join([*said, f"Tested over {UNITS[comparison.by]}."])


def win_rows(comparison: CampaignComparison) -> list[dict[str, str]]:
    """Return the rows of the table of pairs of systems that were compared side by side, by rank and with the stronger system first."""
    if comparison.votes is None:
        return []
    rank = [s.system for s in ranked_strengths(comparison.votes)]
    rates = [
        r if rank.index(r.first) < rank.index(r.second) else _from_the_other_side(r) for r in comparison.votes.rates
    ]
    return [
        {"pair": f"{r.first} against {r.second}", "won": f"{r.wins}", "tied": f"{r.ties}", "lost": f"{r.losses}",
         "win rate [95 % CI]": interval(r.rate, 2)}
        for r in sorted(rates, key=lambda r: (rank.index(r.first), rank.index(r.second)))
    ]  # fmt: skip


def _from_the_other_side(r: WinRate) -> WinRate:
    value, low, high = (None if x is None else 1 - x for x in (r.rate.value, r.rate.high, r.rate.low))
    rate = r.rate._replace(value=value, low=low, high=high)
    return r._replace(first=r.second, second=r.first, wins=r.losses, losses=r.wins, rate=rate)


def format_p(p: float | None) -> str:
    """Return p with three decimals."""
    return "–" if p is None else "< .001" if p < 0.001 else format_number(p)


def as_latex(comparison: CampaignComparison, name: str) -> str:
    """Return a booktabs table of the systems, best first: means, also standardised and adjusted for raters, or strengths.

    Bold: the best mean and those that are not significantly below it. `name` is that of the campaign.
    """
    b = comparison.basis
    rests = f"{format_count(b.ratings, 'rating')} of {format_count(b.items, 'segment')} by {format_count(b.raters, 'rater')}"
    if comparison.votes is not None:
        ranked = ranked_strengths(comparison.votes)
        rows = [[latex_text(s.system), latex_text(_cell(s.strength, 2)), f"{s.votes:,}"] for s in ranked]
        caption = (
            f"{name}: Bradley–Terry strengths (log odds of being preferred, mean 0) with 95 % bootstrap CIs. {rests}."
        )
        return latex_table(["System", "Strength ↑", "Votes"], [rows], caption, f"{name} results")
    tied = _not_below_the_best(comparison)
    standardised = {s.system: s.mean for s in comparison.standardised}
    adjusted = {a.system: a for a in comparison.effects.means} if comparison.effects else {}
    columns = ["System", "Mean ↑", *(["z ↑"] if standardised else []), *(["Adjusted mean ↑"] if adjusted else [])]
    rows = []
    for m in comparison.means:
        mean = latex_text(_cell(m.mean, digits_of(comparison)))
        cells = [latex_text(m.system), bold(mean) if m.system in tied else mean]
        if standardised:
            cells.append(latex_text(_cell(standardised[m.system], 2) if m.system in standardised else MISSING))
        if adjusted:
            a = adjusted.get(m.system)
            cells.append(
                latex_text(
                    MISSING if a is None else _cell(Interval(a.mean, a.low, a.high, a.scores), digits_of(comparison))
                )
            )
        rows.append([*cells, f"{m.scores:,}"])
    said = ""
    if tied:
        said = (
            " Bold: not significantly below the best mean (permutation test with random signs over "
            f"{UNITS[comparison.by]}, two-sided, Holm, p > {format_number(ALPHA, 2)})."
        )
    elif comparison.differences:
        said = " No difference from the best mean is significant (permutation test with random signs, Holm)."
    z = " z: scores standardised per rater." if standardised else ""
    caption = f"{name}: {comparison.measure}, with 95 % CIs. {rests}.{z}{said}"
    return latex_table([*columns, "Ratings"], [rows], caption, f"{name} results")


def _not_below_the_best(comparison: CampaignComparison) -> set[str]:
    """Return the best system and those whose difference from it is not significant; nothing if no difference from it is."""
    if not comparison.means or not comparison.differences:
        return set()
    best = comparison.means[0].system
    beaten = {
        system
        for d in comparison.differences
        if best in (d.first, d.second) and d.adjusted is not None and d.adjusted <= ALPHA
        for system in (d.first, d.second)
        if system != best
    }
    return {m.system for m in comparison.means} - beaten if beaten else set()


def _cell(value: Interval, digits: int) -> str:
    return MISSING if value.value is None else interval(value, digits)


SEED = 0
MOST = 20


def campaign_report(file: CampaignFile) -> str:
    """Return the report. Intervals are 95 % ones with a fixed seed; shares have Wilson intervals."""
    ranks = ranking(file, seed=SEED)
    items, checks, tutorials = (file.of_kind(kind) for kind in ("item", "check", "tutorial"))
    spans = sum(len(r.errors or ()) for r in file.ratings)
    lines = [
        f"{len(items):,} ratings of items, {len(checks):,} of attention checks, {len(tutorials):,} of tutorial items, by "
        f"{len({r.rater for r in file.ratings}):,} annotators; {file.replaced:,} earlier ratings were replaced",
        f"{spans:,} error spans, {len(file.odd):,} of them invalid",
        *(f"  {o.rater}, {o.key.system}, {o.key.segment_id}: {o.start} to {o.end}, {o.why}" for o in file.odd[:MOST]),
        *([f"  and {len(file.odd) - MOST:,} more"] if len(file.odd) > MOST else []),
        *(w.sentence() for w in file.warnings),
        "", "attention checks passed, by annotator",
        *(f"  {c.rater}: {_interval(c.passed)} of {c.passed.n}{f', {c.unjudged} not judged' if c.unjudged else ''}" for c in attention(file)),
        "", "systems by mean score (higher is better) and mean penalty (lower is better), with 95 % CIs over outputs "
        f"({method_of([i for r in ranks for i in (r.score, r.penalty)])})",
        *(f"  {r.system}: score {_interval(r.score)}, penalty {_interval(r.penalty)}, {r.outputs:,} outputs" for r in ranks),
        *(f"  {system}: mean of slider {name} {mean:.2f}" for (name, system), mean in slider_means(file).items()),
        "",
    ]  # fmt: skip
    agreement, seconds = campaign_agreement(file, seed=SEED), times(file)
    lines += [
        f"agreement on {agreement.outputs:,} outputs with several annotators: α of scores {_interval(agreement.score_alpha)}, "
        f"of penalties {_interval(agreement.penalty_alpha)}",
        f"median seconds: {_seconds(seconds.per_item)} per item, {_seconds(seconds.per_span)} per error span",
    ]
    return "\n".join(lines)


def _interval(of: Interval) -> str:
    if of.value is None:
        return f"– ({of.reason})" if of.reason else "–"
    return with_interval(f"{of.value:.2f}", of.low, of.high, "{:.2f}".format)


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"
