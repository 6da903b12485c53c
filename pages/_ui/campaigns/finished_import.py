"""Import a finished campaign of another tool: its files, what they contain, and the project that they go into."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import streamlit as st

from core.formats.campaigns import pearmut
from core.formats.campaigns.campaign_file import CampaignFile
from core.formats.campaigns.recognised import BATCHES, recognised
from core.formats.files import Upload, stem
from core.formatting import format_count
from core.ports.imports import DatasetImport
from core.services.campaigns import importing as service
from core.services.campaigns.exporting import FORMATS
from pages._ui.campaigns import address, imported_view
from pages._ui.projects import import_offer, importing, upload_files
from pages._ui.projects.upload import ReadyUpload
from pages._ui.shared import drafts, errors, page, state, wiring

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


def draw() -> None:
    """Draw the steps one below the other."""
    page.heading("Import a finished campaign", PURPOSE)
    st.button("All campaigns", icon=":material/arrow_back:", on_click=address.open_list, type="tertiary")
    if (job := importing.running()) is not None:
        _finish(job)
    discard = errors.guarded(lambda: upload_files.forget(WHAT))
    given, key = upload_files.choose(WHAT, "Files of the campaign", GUIDE, discard, folder=False)
    if not given or (chosen := _chosen(given, key)) is None:
        return
    ids = tuple(f"{f.id} {f.name}" for f in given)
    found = _read(ids, chosen.format, chosen.campaign, chosen)
    st.subheader("2 · Contents", anchor=False)
    imported_view.draw(found, (*ids, chosen.format, chosen.campaign))
    st.subheader("3 · Import", anchor=False)
    imported_view.not_stored(found, (*ids, chosen.format, chosen.campaign), stem(chosen.ratings.name))
    labels = service.labels_of(found)
    ready = ReadyUpload(DatasetImport(labels.dataset), labels.summary(), labels, (chosen.ratings.name,), what=WHAT)
    choice = state.projects()
    what = import_offer.offer(ready, choice.all, choice.project)
    if what.target.project_id is not None:
        match = service.match(wiring.store(), what.target.project_id, found)
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
    return service.read(name, _chosen.ratings, _chosen.texts, campaign)


def _finish(job: importing.ImportJob) -> None:
    """Follow an import to its end; on success open the results in its project, below what was imported."""
    done = importing.watch(job)
    if done is not None:
        st.session_state[importing.DONE] = done
        _read.clear()
        upload_files.forget(job.what)
        state.open_project(done.project.id)
        there = {state.PROJECT: str(done.project.id), address.CAMPAIGN: address.RATINGS}
        st.switch_page("pages/campaigns.py", query_params=there)
