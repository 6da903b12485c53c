"""What suggestions change: in ESA^AI against ESA (WMT23 English–German), and in simulated campaigns with known effects.

python -m tests.bench.suggestions             the report on ../shared/data/esa
python -m tests.bench.suggestions --runs 300  simulated campaigns: coverage of the CIs, error rates of the tests
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import math
from collections import Counter
from statistics import median
from typing import NamedTuple

from core.campaigns.imported import rating_seconds
from core.campaigns.suggestion_effect import SuggestionReport, SuggestionRow, marked_among, suggestion_report
from core.campaigns.suggestions import Arm
from core.data import OutputKey, Span, grouped
from core.formats.campaigns.appraise import read_appraise
from core.formats.campaigns.campaign_file import CampaignFile, CampaignRating, raw_spans
from core.formats.files import file_at
from core.formatting import MISSING
from core.reports.suggestions import basis_sentences, effect_rows, pooling_sentence, system_rows
from tests.core.campaigns.simulated_suggestions import AUTOMATION, NONE, WRONG, Bias, simulated_campaign
from tests.paths import DATA

ESA = DATA / "esa"
ARMS: dict[Arm, str] = {"suggested": "appraise_esaai_wmt23_ende.csv.gz", "control": "appraise_esa_wmt23_ende.csv.gz"}
BREAK = 300.0
"""A longer time (seconds) is a break: the annotator's median counts, as in the analysis that was published with the data."""
MARGIN = 2.0


class SpanCounts(NamedTuple):
    """Spans of ESA^AI: without the key `error_type` prefilled and kept, with it added or changed; in all rows, and in items only."""

    kept: int
    changed: int
    kept_in_items: int
    changed_in_items: int


def span_counts() -> SpanCounts:
    counts: Counter[tuple[bool, bool]] = Counter()
    with gzip.open(ESA / ARMS["suggested"], "rt", encoding="utf-8", newline="") as file:
        for row in csv.reader(file):
            is_item = row[3] == "TGT" and "tutorial" not in row[7]
            counts.update(("error_type" not in span, is_item) for span in json.loads(row[9] or "[]"))
    kept, changed = (sum(n for (is_kept, _), n in counts.items() if is_kept is k) for k in (True, False))
    return SpanCounts(kept, changed, counts[True, True], counts[False, True])


def read_arm(arm: Arm) -> CampaignFile:
    return read_appraise(file_at(ESA / ARMS[arm]), file_at(ESA / "appraise_batches_wmt23_ende.json.gz"))


def esa_rows(files: dict[Arm, CampaignFile]) -> list[SuggestionRow]:
    """Return the ratings of the items that both campaigns have, and of the attention checks with their planted errors."""
    shared = set.intersection(*({r.key for r in file.of_kind("item")} for file in files.values()))
    return [row for arm, file in files.items() for row in _rows(arm, file, shared)]


def _rows(arm: Arm, file: CampaignFile, shared: set[OutputKey]) -> list[SuggestionRow]:
    texts, outside = file.texts(), raw_spans(file)
    timed = rating_seconds(file)
    usual = {
        rater: median(s for s in of if s <= BREAK) for rater, of in grouped((r.rater, s) for r, s in timed).items()
    }
    rows = []
    for position, (r, seconds) in enumerate(timed):
        if r.key not in shared or r.errors is None:
            continue
        severities = [e.severity for e in r.errors]
        severities += [str(s.get("severity")) for s in outside.get((r.rater, r.kind, r.key), ())]
        rows.append(
            _row(
                arm, r, position=position, spans=len(severities), score=r.score,
                major=sum(s.casefold() == "major" for s in severities), seconds=usual[r.rater] if seconds > BREAK else seconds,
            )
        )  # fmt: skip
    for r in file.of_kind("check"):
        before = texts[r.of][0] if r.of in texts else None
        place = _planted(before, r.text) if before is not None and r.text is not None else None
        if place is not None:
            rows.append(_row(arm, r, plants=1, plants_marked=marked_among([place], r.errors or ())))
    return rows


def _row(arm: Arm, r: CampaignRating, **values: object) -> SuggestionRow:
    return SuggestionRow(r.rater, " ".join(r.key), arm, "", r.key.system, **values)  # type: ignore[arg-type]


def _planted(before: str, after: str) -> Span | None:
    """Return the stretch of `after` that `before` does not have; None if they are equal."""
    if before == after:
        return None
    head = next(
        (i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), min(len(before), len(after))
    )
    rest = min(len(before), len(after)) - head
    tail = next((i for i in range(rest) if before[-1 - i] != after[-1 - i]), rest)
    return Span("output", head, len(after) - tail, "", "Major", "")


def esa_report(files: dict[Arm, CampaignFile]) -> tuple[SuggestionReport, str]:
    """Return the effects, and the report as text."""
    report, spans = suggestion_report(esa_rows(files), MARGIN, randomised=False), span_counts()
    per_span, per_output = report.effect("seconds_per_span"), report.effect("spans")
    assert per_span.value is not None
    assert per_output.value is not None
    mean_time = per_span.value * per_output.value
    of_spans = math.log(per_output.value) / -math.log(per_span.value)
    lines = [
        "ESA^AI (suggested) against ESA (control), WMT23 English-German",
        f"Spans in the file of ESA^AI: {spans.kept:,} prefilled and kept, {spans.changed:,} added or changed; in items "
        f"{spans.kept_in_items:,} and {spans.changed_in_items:,}.",
        "What was prefilled and then removed is not in the file: acceptance and agreement with the layer are not defined.",
        "The arms were separate campaigns with other accounts, not a random split. Whether one person had several accounts is not in the "
        "files: an account counts as an annotator.",
        f"Time: from an annotator's previous rating to this one; above {BREAK:.0f} s the annotator's median.",
        "",
        _report_text(report),
        "",
        f"Seconds per error span: {per_span.control:.0f} in ESA, {per_span.suggested:.0f} in ESA^AI, a ratio of {per_span.value:.2f} "
        f"[{per_span.low:.2f}, {per_span.high:.2f}] (published: 71 and 31, a ratio of 0.44).",
        f"The mean time per output has a ratio of {mean_time:.2f}, the number of spans per output one of {per_output.value:.2f}: "
        f"{100 * of_spans:.0f} % of the reduction (of logarithms) is that annotators submit more spans, many of them prefilled, "
        f"and {100 - 100 * of_spans:.0f} % that they need less time.",
    ]
    return report, "\n".join(lines)


def _report_text(report: SuggestionReport) -> str:
    """Return the whole report as plain text."""
    lines = [*basis_sentences(report), ""]
    for title, rows in (("effects", effect_rows(report)), ("arm × system (score)", system_rows(report))):
        lines += [title] if rows else []
        for row in rows:
            label, *cells = row.values()
            lines.append("  " + "; ".join([label, *(f"{name} {cell}" for name, cell in zip([*row][1:], cells, strict=True) if cell not in ("", MISSING))]))  # fmt: skip
    return "\n".join([*lines, "", pooling_sentence(report)])


class SimulationResult(NamedTuple):
    """Shares of the runs, by effect: whose CI contains the true effect, and with p < .05. `poolable` is that of ±margin."""

    covered: dict[str, float]
    significant: dict[str, float]
    poolable: float


def simulate(
    bias: Bias, runs: int, *, draws: int = 199, margin: float = 5.0, segments: int = 60, spread: float = 1.5
) -> SimulationResult:
    """Return how often the report is right about campaigns with this bias. Without draws there are no p-values."""
    truth = bias._asdict() | {
        "seconds_per_span": bias.seconds / bias.spans,
        "wrong_accepted": WRONG + bias.wrong,
        "position": 0.0,
    }
    covered, significant, counted = Counter[str](), Counter[str](), Counter[str]()
    poolable = 0
    for seed in range(runs):
        rows = simulated_campaign(bias, seed, segments=segments, spread=spread)
        report = suggestion_report(rows, margin, seed=seed, draws=draws or 1, randomised=draws > 0)
        poolable += report.pooling.test is not None and report.pooling.test.equivalent
        effects = [(e.key, e, truth[e.key]) for e in report.effects if e.key in truth]
        for key, e, true in [*effects, *(("systems", e, 0.0) for e in report.systems[:1])]:
            if e.low is not None and e.high is not None:
                counted[key] += 1
                covered[key] += e.low <= true <= e.high
            significant[key] += e.p is not None and e.p < 0.05
    return SimulationResult(
        {key: covered[key] / n for key, n in counted.items()}, {key: n / runs for key, n in significant.items()}, poolable / runs
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=0, help="simulated campaigns with and without bias")
    runs = parser.parse_args().runs
    if not runs:
        print(esa_report({arm: read_arm(arm) for arm in ARMS})[1])
        return
    for name, bias in (("automation bias", AUTOMATION), ("no bias", NONE)):
        result = simulate(bias, runs)
        print(f"{name}, {runs} campaigns")
        for key, share in result.covered.items():
            print(f"  {key:18} CI contains the true effect {share:.3f}, p < .05 {result.significant[key]:.3f}")
    for score in (-4.0, 0.0):
        share = simulate(NONE._replace(score=score), runs, draws=0, margin=4.0, segments=300, spread=0.0).poolable
        print(f"score effect {score:g}, margin 4, 2,400 ratings: {share:.3f} of {runs} campaigns poolable")


if __name__ == "__main__":
    main()
