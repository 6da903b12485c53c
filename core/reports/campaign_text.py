"""A campaign file of another tool in plain text: what it contains, checks, ranking, agreement and times."""

from __future__ import annotations

from core.campaigns.imported import attention, campaign_agreement, ranking, slider_means, times
from core.formats.campaigns.campaign_file import CampaignFile
from core.stats.bootstrap import Interval, method_of

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
    found, seconds = campaign_agreement(file, seed=SEED), times(file)
    lines += [
        f"agreement on {found.outputs:,} outputs with several annotators: α of scores {_interval(found.score_alpha)}, "
        f"of penalties {_interval(found.penalty_alpha)}",
        f"median seconds: {_seconds(seconds.per_item)} per item, {_seconds(seconds.per_span)} per error span",
    ]
    return "\n".join(lines)


def _interval(of: Interval) -> str:
    if of.value is None:
        return f"– ({of.reason})" if of.reason else "–"
    ends = "" if of.low is None or of.high is None else f" [{of.low:.2f}, {of.high:.2f}]"
    return f"{of.value:.2f}{ends}"


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"
