"""Public pages of results: what the reports show, without scripts, without names of annotators, and blind if asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from string import ascii_uppercase
from typing import Any, NamedTuple

import altair as alt
import pandas as pd

from core.errors import UserError
from core.formatting import format_count, isolated
from core.plots import campaigns
from core.reports import campaign_results, evaluation
from core.reports.html import long_time, render, report_table, static_chart
from core.services.campaigns.comparison import CampaignComparison
from core.services.evaluate.evaluate import Evaluation, StatisticName
from core.services.evaluate.significance import SignificanceMatrix, Systems

ROOMY, NARROW = 540, 360
"""Widths of the charts in pixels, on screens and on phones."""

Rename = Callable[[str], str]


class PublicPage(NamedTuple):
    """What a public page says of itself. With `blind`, letters in the order of the results replace the names of `systems`."""

    title: str
    blind: bool = False
    systems: Collection[str] = ()
    made: datetime | None = None


def of_campaign(comparison: CampaignComparison, page: PublicPage, *, running: bool) -> str:
    """Return the page of a campaign: means or strengths of its systems, differences, agreement, and how they were computed.

    Raises `UserError` if the title of a blind page names a system.
    """
    ranked = [m.system for m in comparison.means]
    if comparison.votes is not None:
        ranked = [s.system for s in campaign_results.ranked_strengths(comparison.votes)]
    _refuse_names(page, comparison.measure)
    if page.blind:  # the order of names would say which letter is which system
        by_rank = sorted(comparison.differences, key=lambda d: sorted(map(ranked.index, (d.first, d.second))))
        comparison = comparison._replace(differences=tuple(by_rank))
    comparison = _renamed_campaign(comparison, _names(ranked, page))
    over = campaign_results.UNITS[comparison.by]
    charts: list[tuple[str, alt.LayerChart]] = []
    tables = []
    if rows := campaign_results.mean_rows(comparison):
        what = "Strengths (Bradley–Terry)" if comparison.votes else "Means of the systems"
        charts.append((f"{what}, with 95 % CIs", campaigns.means(pd.DataFrame(rows), comparison.measure)))
    if comparison.votes is not None:
        strengths = [
            {"system": s.system, "strength": campaign_results.interval(s.strength, 2), "votes": f"{s.votes:,}"}
            for s in campaign_results.ranked_strengths(comparison.votes)
        ]
        tables.append(_table(f"Strengths: {comparison.measure}", strengths))
        tables.append(_table("Pairs of systems", campaign_results.win_rows(comparison)))
    else:
        tables.append(_table(f"Means of the systems: {comparison.measure}", campaign_results.system_rows(comparison)))
        differences, drawn = campaign_results.difference_rows(comparison)
        legend = campaign_results.difference_legend(comparison, drawn)
        if campaign_results.draws_differences(drawn):
            title = f"Differences between systems, with 95 % CIs over {over}"
            charts.append((title, campaigns.differences(pd.DataFrame(drawn), f"difference: {comparison.measure}")))
        if differences:
            tables.append(_table(f"Differences between systems. {legend}", differences))
    said = f"{campaign_results.sentence(comparison)}. {campaign_results.agreement(comparison)}."
    basis = campaign_results.basis(comparison, running=False, named=False)
    return _page(
        page, said, tables, charts, campaign_results.methods(comparison), [comparison.signature],
        f"{basis} · the campaign was still running" if running else basis,
    )  # fmt: skip


def of_evaluation(
    evaluated: Evaluation,
    statistic: StatisticName,
    tests: Sequence[SignificanceMatrix],
    systems: Systems | None,
    page: PublicPage,
) -> str:
    """Return the page of a meta-evaluation, with the content of its HTML report.

    Raises `UserError` if the title of a blind page names a system.
    """
    ranked = [m.system for m in systems.means] if systems else []
    _refuse_names(page, evaluated.joined.human_label)
    if page.blind and (n := len(evaluated.joined.excluded)):
        notes = (*evaluated.joined.notes, f"{format_count(n, 'system')} {'was' if n == 1 else 'were'} excluded.")
        evaluated = evaluated._replace(joined=replace(evaluated.joined, excluded=(), notes=notes))
    if systems is not None:
        name = _names(ranked, page)
        systems = systems._replace(
            means=tuple(m._replace(system=name(m.system)) for m in systems.means),
            tests=tuple(t._replace(first=name(t.first), second=name(t.second)) for t in systems.tests),
        )
    return _page(
        page, evaluation.sentence(evaluated, statistic), evaluation.report_tables(evaluated, statistic, tests, systems),
        evaluation.report_charts(evaluated, statistic, tests, systems), evaluation.methods(evaluated, tests, systems),
        evaluation.signatures(evaluated),
    )  # fmt: skip


def _page(
    page: PublicPage, sentence: str, tables: Sequence[Mapping[str, Any]], charts: Iterable[tuple[str, alt.LayerChart]],
    methods: str, signatures: Sequence[str], basis: str = "",
) -> str:  # fmt: skip
    blind = " Letters replace the names of the systems, in the order of the results." if page.blind else ""
    return render(
        "public.html.j2", title=page.title, sentence=sentence, basis=basis, tables=tables, methods=methods, signatures=signatures,
        charts=[
            {"caption": caption, "roomy": static_chart(chart, ROOMY), "narrow": static_chart(chart, NARROW)}
            for caption, chart in charts
        ],
        foot=f"Computed with Errorscope and shared on {long_time(page.made or datetime.now(UTC))} This page does not change.{blind}",
    )  # fmt: skip


def _table(caption: str, rows: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """Return a table of the page. Columns without any text are left out."""
    columns = [name for name in (rows[0] if rows else ()) if any(row[name] for row in rows)]
    return report_table(caption, columns, ([row[name] for name in columns] for row in rows))


def _names(ranked: Sequence[str], page: PublicPage) -> Rename:
    """Return how systems are called on the page. Names written from right to left are isolated from the text around them."""
    if not page.blind:
        return isolated
    letters = {name: f"System {_letter(n)}" for n, name in enumerate(ranked)}
    return letters.__getitem__


def _letter(n: int) -> str:
    """Return A, B, …, Z, AA, AB, …"""
    rest, last = divmod(n, len(ascii_uppercase))
    return (_letter(rest - 1) if rest else "") + ascii_uppercase[last]


def _renamed_campaign(comparison: CampaignComparison, name: Rename) -> CampaignComparison:
    effects, votes = comparison.effects, comparison.votes
    if effects is not None:
        effects = effects._replace(means=tuple(m._replace(system=name(m.system)) for m in effects.means))
    if votes is not None:
        votes = votes._replace(
            strengths=tuple(s._replace(system=name(s.system)) for s in votes.strengths),
            rates=tuple(r._replace(first=name(r.first), second=name(r.second)) for r in votes.rates),
        )
    return comparison._replace(
        means=tuple(m._replace(system=name(m.system)) for m in comparison.means),
        standardised=tuple(m._replace(system=name(m.system)) for m in comparison.standardised),
        differences=tuple(d._replace(first=name(d.first), second=name(d.second)) for d in comparison.differences),
        effects=effects, votes=votes,
    )  # fmt: skip


def _refuse_names(page: PublicPage, *texts: str) -> None:
    """Raise `UserError` if a text of a blind page that is shown as it was typed names a system."""
    for text in (page.title, *texts) if page.blind else ():
        for name in page.systems:
            if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text):
                raise UserError(
                    "the page would name a system", where=f"“{text}”", got=name,
                    hint="Type another title, or show the names of the systems",
                )  # fmt: skip
