"""Campaigns of other tools: their files are read, and become labels and judgements of a project."""

from __future__ import annotations

from core.data import Judgement, RatedOutput
from core.errors import UserError, unknown
from core.formats.campaigns import appraise, pearmut, wmt25, wmt25_spans
from core.formats.campaigns.campaign_file import CampaignFile
from core.formats.files import Upload
from core.ports.store import Store
from core.progress import Progress, no_progress
from core.services.campaigns.exporting import FORMATS
from core.services.projects.adding import Imported, ImportTarget
from core.services.projects.label_import import LabelFiles, import_labels


def read(name: str, upload: Upload, texts: Upload | None = None, campaign: str | None = None) -> CampaignFile:
    """Read a file in this format (`exporting.FORMATS`). `texts` are the batches with the texts, which only Appraise's CSV needs.
    `campaign` is one of those in a file of Pearmut.

    Raises `UserError` for an unknown format or texts that the format does not need, and `ImportProblems` for a file that cannot be read.
    """
    if name not in FORMATS:
        raise unknown("format", name, FORMATS)
    if name == "appraise":
        return appraise.read(upload, texts)
    if texts is not None:
        raise UserError("this format has its own texts", got=texts.name, hint="Leave the file of texts out")
    if name == "pearmut":
        return pearmut.read(upload, campaign)
    return wmt25.read(upload) if name == "wmt25" else wmt25_spans.read(upload)


def labels_of(found: CampaignFile) -> LabelFiles:
    """Return the ratings of items as labels and judgements; checks and tutorials are left out."""
    items = found.of_kind("item")
    rated = tuple(RatedOutput(r.key, r.rater, r.all_errors) for r in items if r.all_errors is not None)
    name = "ESA" if any(r.errors is not None for r in items) else "DA"
    scores = tuple(Judgement(r.key, r.rater, name, r.score) for r in items if r.score is not None)
    scores += tuple(Judgement(r.key, r.rater, *slider) for r in items for slider in r.sliders)
    return LabelFiles(found.dataset, rated, found.warnings, (), scores)


def import_campaign(
    store: Store, target: ImportTarget, found: CampaignFile, progress: Progress = no_progress
) -> Imported:
    """Import the texts and ratings of items: everything, or nothing and no new project."""
    return import_labels(store, target, labels_of(found), progress)
