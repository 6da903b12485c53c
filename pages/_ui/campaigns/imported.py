"""Import a finished campaign of another tool, and show what its file contains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import streamlit as st

from core.campaigns.imported import (
    CampaignAgreement,
    CampaignRank,
    CampaignTimes,
    attention,
    campaign_agreement,
    ranking,
    times,
)
from core.data import grouped
from core.formats.campaigns import pearmut
from core.formats.campaigns.campaign_file import CampaignFile
from core.formats.campaigns.campaign_formats import BATCHES, recognised
from core.formats.files import Upload, stem
from core.formats.labels.judgements import is_rank
from core.formats.write import csv_text
from core.formatting import format_count, format_interval, isolated
from core.ports.files import DatasetImport
from core.ports.projects import Project
from core.services.campaigns import files as service
from core.services.campaigns.files import FORMATS, ratings_of
from core.stats.bootstrap import Interval, method_of
from pages._ui.campaigns import campaign_data
from pages._ui.labels_and_raters import known_labels
from pages._ui.projects import importing, upload_files
from pages._ui.projects.upload import ReadyUpload
from pages._ui.shared import drafts, errors, files, page, state, tables, wiring
from pages._ui.shared.markdown import escape_markdown

MOST_ODD = 200
COLUMNS = (
    "annotator", "outputs", "checks_passed", "checks_judged", "share_passed", "share_ci_low", "share_ci_high", "checks_not_judged",
    "tutorial_items", "median_seconds_per_output", "median_seconds_per_error_span",
)  # fmt: skip


class CampaignAnalysis(NamedTuple):
    """What is computed from the ratings."""

    annotators: list[dict[str, Any]]
    ranks: tuple[CampaignRank, ...]
    agreement: CampaignAgreement
    times: CampaignTimes


@st.cache_resource(max_entries=2, ttl=900, show_spinner="Analysing the ratings …")
def _analysis(key: Hashable, _file: CampaignFile) -> CampaignAnalysis:
    return CampaignAnalysis(annotator_rows(_file), ranking(_file), campaign_agreement(_file), times(_file))


def annotator_rows(file: CampaignFile) -> list[dict[str, Any]]:
    """Return the row of each annotator in the file of checks and times; what is not known is None."""
    checks, rows = {of.rater: of for of in attention(file)}, []
    for rater, ratings in grouped((r.rater, r) for r in file.ratings).items():
        kinds, of_rater = Counter(r.kind for r in ratings), times(replace(file, ratings=tuple(ratings)))
        row: dict[str, Any] = {"annotator": rater, "outputs": kinds["item"]}
        if of := checks.get(rater):
            row |= {
                "checks_passed": round((of.passed.value or 0.0) * of.passed.n), "checks_judged": of.passed.n,
                "share_passed": of.passed.value, "share_ci_low": of.passed.low, "share_ci_high": of.passed.high,
                "checks_not_judged": of.unjudged,
            }  # fmt: skip
        row |= {
            "tutorial_items": kinds["tutorial"], "median_seconds_per_output": of_rater.per_item,
            "median_seconds_per_error_span": of_rater.per_span,
        }  # fmt: skip
        rows.append({column: row.get(column) for column in COLUMNS})
    return rows


def draw_imported_campaign(file: CampaignFile, key: Hashable) -> None:
    """Draw the analysis of a file; `key` names its contents."""
    analysis = _analysis(key, file)
    st.markdown(f"**{size(file)}.**  \n{pace(analysis.times)} {agreed(analysis.agreement)}")
    systems, raters, odd = st.tabs(["Systems", "Annotators", f"Invalid error spans ({len(file.odd):,})"])
    with systems:
        _systems(analysis.ranks)
    with raters:
        _annotators(analysis.annotators)
    with odd:
        _odd(file)
    if file.warnings:
        tables.warnings_table(file.warnings, len(file.warnings))


def not_stored(file: CampaignFile, key: Hashable, name: str) -> None:
    """Say what the import leaves out of the file of this name, and offer it as a table; nothing if it has only ratings."""
    analysis = _analysis(key, file)
    parts = {
        "attention checks": file.of_kind("check"), "tutorial items": file.of_kind("tutorial"),
        "times": analysis.times.per_item is not None,
    }  # fmt: skip
    if not (has := [what for what, contained in parts.items() if contained]):
        return
    page.info(
        f"The import stores texts and ratings, but not: {', '.join(has)}. Download them if you need them later; the file has one row per annotator."
    )
    rows = [list(row.values()) for row in analysis.annotators]
    files.download(
        "Checks and times as CSV", lambda: csv_text(COLUMNS, rows), f"{files.file_name(name)}.annotators.csv", "campaign-annotators"
    )  # fmt: skip


def _systems(ranks: Sequence[CampaignRank]) -> None:
    tables.text_table([_rank(place, row) for place, row in enumerate(ranks, 1)])
    method = method_of([interval for row in ranks for interval in (row.score, row.penalty)])
    page.caption(
        "Score: mean over outputs, higher is better. Penalty: MQM weights of the error spans per output, lower is better. "
        f"95 % CIs over outputs ({method}). Systems rated on different segments also differ by their difficulty."
    )


def names_of_ratings(project: Project) -> list[str]:
    """Return the names of the scores that annotators gave outside campaigns; [""] for error spans without scores."""
    names = [name for name in project.judged if not is_rank(name)]
    return names or [""] * bool(wiring.store().labels.raters(project.id))


def draw_stored(project: Project) -> None:
    """Draw the results of the ratings that were imported or given outside campaigns, after an import with what was imported."""
    done = st.session_state.get(importing.DONE)
    if done and done.project.id == project.id:
        importing.report(done)
    names = names_of_ratings(project)
    if not names:
        page.info("This project has no ratings outside campaigns.")
        return
    name = names[0]
    if len(names) > 1:
        name = st.selectbox("Human scores", names, key=f"ratings-{project.id}", width=320)
    ranks, size = _stored(project, name)
    st.subheader(escape_markdown(_best(ranks)), anchor=False)
    st.markdown(f"{escape_markdown(name or 'Error spans')}: {size}.")
    _systems(ranks)
    page.caption(
        "Attention checks, tutorials and times of imported campaigns are not stored. *Import a finished campaign* shows them, with a file "
        "for download, whenever the files are chosen there."
    )
    with st.container(horizontal=True):
        page.link("labels_and_raters", "Agreement of the annotators")
        page.link("compare", "Compare outputs")
        page.link("meta_evaluation", "Meta-evaluation: which metric agrees")


@wiring.cached(wiring.version, 4, spinner="Ranking the systems …")
def _stored(project: Project, name: str) -> tuple[tuple[CampaignRank, ...], str]:
    stored_file = ratings_of(wiring.store().labels.judgements(project.id), known_labels.submitted(project), name)
    raters = format_count(len({r.rater for r in stored_file.ratings}), "annotator")
    return ranking(stored_file), f"{format_count(len(stored_file.ratings), 'rating')} by {raters}"


def _best(ranks: Sequence[CampaignRank]) -> str:
    best = ranks[0]
    if best.score.value is not None:
        return f"{isolated(best.system)} has the highest mean score: {interval(best.score, 1)}"
    return f"{isolated(best.system)} has the lowest mean penalty: {interval(best.penalty, 2)}"


def size(file: CampaignFile) -> str:
    """Return "2,691 ratings by 33 annotators: 207 segments × 13 systems, 3,110 error spans (34 invalid), …"."""
    items, checks, tutorials = (file.of_kind(kind) for kind in ("item", "check", "tutorial"))
    spans = sum(len(r.errors or ()) for r in items)
    parts = [
        f"{format_count(len(file.dataset.segments), 'segment')} × {format_count(len(file.dataset.systems), 'system')}",
        f"{format_count(spans, 'error span')}{f' ({len(file.odd):,} invalid)' if file.odd else ''}",
        format_count(len(checks), "attention check"),
        format_count(len(tutorials), "tutorial item"),
    ]
    annotators = format_count(len({r.rater for r in file.ratings}), "annotator")
    return f"{format_count(len(items), 'rating')} by {annotators}: {', '.join(parts)}"


def pace(median_times: CampaignTimes) -> str:
    """Return the median times in a sentence."""
    if median_times.per_item is None:
        return "The file has no times."
    per_span = "" if median_times.per_span is None else f", {median_times.per_span:.0f} s per error span"
    return f"Median time: {median_times.per_item:.0f} s per output{per_span}."


def agreed(agreement: CampaignAgreement) -> str:
    """Return the agreement in a sentence."""
    if agreement.outputs < 2:
        return "No outputs were rated by several annotators, so there is no agreement."
    parts = [
        f"α of {name} {interval(of, 3, leading_zero=False)}"
        for name, of in (("scores", agreement.score_alpha), ("penalties", agreement.penalty_alpha))
        if of.value is not None
    ]
    return f"Agreement on {agreement.outputs:,} outputs with several annotators: {', '.join(parts) or 'undefined'}."


def interval(of: Interval, digits: int, *, leading_zero: bool = True) -> str:
    """Return a value with its interval: "92.8 [91.0, 94.5]"; "" without a value."""
    return "" if of.value is None else format_interval(of.value, of.low, of.high, digits, leading_zero=leading_zero)


def _rank(place: int, row: CampaignRank) -> dict[str, str]:
    return {
        "rank": f"{place}", "system": row.system, "score ↑ [95 % CI]": interval(row.score, 1),
        "penalty ↓ [95 % CI]": interval(row.penalty, 2), "outputs": f"{row.outputs:,}", "ratings": f"{row.n_ratings:,}",
    }  # fmt: skip


def _annotators(rows: Sequence[dict[str, Any]]) -> None:
    shown = []
    for row in rows:
        judged, unjudged, seconds = row["checks_judged"], row["checks_not_judged"], row["median_seconds_per_output"]
        share = format_interval(row["share_passed"], row["share_ci_low"], row["share_ci_high"], 2, leading_zero=True)
        shown.append({
            "annotator": row["annotator"], "outputs": f"{row['outputs']:,}",
            "checks passed": f"{row['checks_passed']} of {judged}" if judged else "",
            "share [95 % CI]": share if judged else "",
            "checks not judged": f"{unjudged}" if unjudged else "",
            "time per output": "" if seconds is None else f"{seconds:.0f} s",
        })  # fmt: skip
    tables.text_table(shown)
    page.caption(
        "An attention check is passed if its score is below the score that the same annotator gave the original, or as the file says. "
        "Wilson intervals. Checks with the text of the original are not judged."
    )


def _odd(file: CampaignFile) -> None:
    if not file.odd:
        page.caption("All error spans lie inside their texts and have a known severity.")
        return
    tables.text_table([
        {"annotator": o.rater, "system": o.key.system, "document": o.key.doc_id, "segment": o.key.segment_id,
         "from": o.start, "to": o.end, "problem": o.why, "in its rating": "no" if o.raw is not None else "yes"}
        for o in file.odd[:MOST_ODD]
    ])  # fmt: skip
    more = f"{len(file.odd) - MOST_ODD:,} more. " if len(file.odd) > MOST_ODD else ""
    page.caption(
        f"{more}Spans outside the text are ignored. The import leaves out ratings with a severity other than Major, Minor and "
        "Neutral, and lists them."
    )


GUIDE = (
    "**Appraise**: the CSV of scores, and the JSON file of batches with the texts. **Pearmut**: its JSON, or its log (JSONL). **WMT25**: the "
    "compiled ratings (JSONL), or the error spans of the metrics task (TSV). All may be gzipped (.gz). Nothing is imported before you say so."
)
WHAT = "campaign"
PURPOSE = "See what annotators of another tool did, and put their labels and scores into a project."


class CampaignUpload(NamedTuple):
    """The ratings with their format, the texts if they are in a file of their own, and the campaign if a file has several."""

    ratings: Upload
    format: str
    texts: Upload | None
    campaign: str | None


def draw_finished_import() -> None:
    """Draw the steps one below the other."""
    page.heading("Import a finished campaign", PURPOSE)
    campaign_data.back_button()
    if (job := importing.running()) is not None:
        _finish(job)
    discard = errors.guarded(lambda: upload_files.forget(WHAT))
    files, key = upload_files.choose(WHAT, "Files of the campaign", GUIDE, discard, folder=False)
    if not files or (chosen := _chosen(files, key)) is None:
        return
    ids = tuple(f"{f.id} {f.name}" for f in files)
    file = _read(ids, chosen.format, chosen.campaign, chosen)
    st.subheader("2 · Contents", anchor=False)
    draw_imported_campaign(file, (*ids, chosen.format, chosen.campaign))
    st.subheader("3 · Import", anchor=False)
    not_stored(file, (*ids, chosen.format, chosen.campaign), stem(chosen.ratings.name))
    labels = service.labels_of(file)
    ready = ReadyUpload(DatasetImport(labels.dataset), labels.summary(), labels, (chosen.ratings.name,), what=WHAT)
    choice = state.projects()
    what = importing.offer(ready, choice.all, choice.project)
    if what.target.project_id is not None:
        match = service.match(wiring.store(), what.target.project_id, file)
        page.caption(match.sentence())
        if match.refused is not None:
            errors.show(match.refused)
            what = what._replace(possible=False)
    if (job := importing.button(ready, what)) is not None:
        _finish(job)


def _chosen(files: Sequence[Upload], key: str) -> CampaignUpload | None:
    """Draw the choice of format and campaign; None, with the reason, if a file is missing."""
    kinds = {f.name: recognised(f) for f in files}
    texts = [f for f in files if kinds[f.name] == BATCHES]
    ratings = [f for f in files if kinds[f.name] != BATCHES]
    if len(ratings) != 1 or len(texts) > 1:
        page.info(
            f"These are {format_count(len(ratings), 'file')} of ratings and {format_count(len(texts), 'file')} of batches. Give one file "
            "of ratings; for Appraise, one file of batches too."
        )
        return None
    (rated,) = ratings
    left, right = st.columns(2)
    guess = kinds[rated.name]
    name = left.selectbox(
        "Format", list(FORMATS), list(FORMATS).index(guess) if guess else None, format_func=lambda f: FORMATS[f].label,
        key=drafts.kept(f"{key}-format-{rated.name}", guess, FORMATS.__contains__), placeholder="Not recognized. Choose the format",
    )  # fmt: skip
    if name is None:
        return None
    if name == "appraise" and not texts:
        page.info("Add the JSON file of batches that the campaign was created from. It has the texts that were rated.")
        return None
    campaign = None
    if name == "pearmut" and len(names := pearmut.campaign_names(rated)) > 1:
        campaign = right.selectbox(
            "Campaign", names, key=drafts.kept(f"{key}-of-{rated.name}", fits=names.__contains__)
        )
    return CampaignUpload(rated, name, texts[0] if texts else None, campaign)


@st.cache_resource(max_entries=2, ttl=900, show_spinner="Reading the campaign …")
def _read(ids: tuple[str, ...], name: str, campaign: str | None, _chosen: CampaignUpload) -> CampaignFile:
    return service.read_campaign_file(name, _chosen.ratings, _chosen.texts, campaign)


def _finish(job: importing.ImportJob) -> None:
    """Follow an import to its end; on success open the results in its project, below what was imported."""
    done = importing.watch(job)
    if done is not None:
        st.session_state[importing.DONE] = done
        _read.clear()
        upload_files.forget(job.what)
        state.open_project(done.project.id)
        parameters = {state.PROJECT: str(done.project.id), campaign_data.CAMPAIGN: campaign_data.RATINGS}
        st.switch_page("pages/campaigns.py", query_params=parameters)
