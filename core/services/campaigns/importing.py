"""Campaigns of other tools: their files are read, and become labels and judgements of a project."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from core.data import Dataset, Judgement, Output, OutputKey, RatedOutput, Span
from core.errors import UserError, unknown
from core.formats.campaigns import appraise, pearmut, wmt25, wmt25_spans
from core.formats.campaigns.campaign_file import CampaignFile, CampaignRating
from core.formats.files import Upload
from core.formats.problems import counted, shown_segment
from core.ports.store import Store
from core.progress import Progress, no_progress
from core.services.campaigns.exporting import FORMATS, campaign_file
from core.services.projects.adding import Imported, ImportTarget, sentence
from core.services.projects.label_import import LabelFiles, import_labels
from core.services.projects.texts import output_parts


class CampaignMatch(NamedTuple):
    """How the outputs of a campaign file match those of a project, by system, document and segment.

    `outputs` are in the file. Of them, `matched` are in the project with the same text and source, and `missing` are not there; an import
    is refused if there are others. `unrated` outputs of the project are not in the file. `refused` is why the file must not be added, or None.
    """

    outputs: int
    matched: int
    missing: int
    unrated: int
    refused: UserError | None = None

    def sentence(self) -> str:
        """Return "6 of 8 outputs of the file are in the project with the same text, 2 are not there and are added. …"."""
        said = (
            f"{self.matched:,} of {counted(self.outputs, 'output')} of the file are in the project with the same text"
        )
        if self.missing:
            be = "is" if self.missing == 1 else "are"
            said += f", {self.missing:,} {be} not there" + (f" and {be} added" if self.refused is None else "")
        if different := self.outputs - self.matched - self.missing:
            said += f", {different:,} {'has' if different == 1 else 'have'} another text or source there"
        there = "Every output of the project is in the file" if not self.unrated else (
            f"{counted(self.unrated, 'output')} of the project {'is' if self.unrated == 1 else 'are'} not in the file"
        )  # fmt: skip
        return f"{said}. {there}."


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


def ratings_of(judged: Iterable[Judgement], rated: Iterable[RatedOutput], name: str) -> CampaignFile:
    """Return the ratings of items that a project keeps, without texts: scores of this name with the error spans of the same raters; with
    "" all error spans. Attention checks, tutorials and times of the files are not kept."""
    errors = {(r.rater, r.key): r.errors for r in rated}
    scores = {(j.rater, j.key): j.value for j in judged if name and j.name == name}
    return CampaignFile(
        Dataset((), ()),
        tuple(CampaignRating(*of, "item", errors.get(of), scores.get(of)) for of in (scores if name else errors)),
    )


def match(store: Store, project_id: int, found: CampaignFile) -> CampaignMatch:
    """Compare a file with an existing project, of which only the segments of the file are read unless none of its outputs is there.

    A file is refused if its ratings are those of a campaign of the project, which would count twice, or if its texts are in the project
    under other names only.
    """
    stored = store.projects.texts(project_id, [s.key for s in found.dataset.segments])
    there, sources = {o.key: o.text for o in stored.outputs}, {s.key: s.source for s in stored.segments}
    of_file = {s.key: s.source for s in found.dataset.segments}
    known = [o for o in found.dataset.outputs if o.key in there]
    same = [
        o for o in known
        if there[o.key] == o.text and (None in (s := (of_file[o.key.segment], sources[o.key.segment])) or s[0] == s[1])
    ]  # fmt: skip
    n = len(found.dataset.outputs)
    unrated = store.projects.get(project_id).n_outputs - len(known)
    refused = _own_campaign(store, project_id, found) or (None if known else _other_names(store, project_id, found))
    return CampaignMatch(n, len(same), n - len(known), unrated, refused)


def _own_campaign(store: Store, project_id: int, found: CampaignFile) -> UserError | None:
    """Return the reason to refuse ratings, most of which are results of a campaign of the project."""
    ratings = {_said(r) for r in found.of_kind("item")}
    for campaign in store.campaigns.list(project_id):
        again = len(ratings.intersection(map(_said, campaign_file(store, campaign).of_kind("item"))))
        if 2 * again > len(ratings):
            return UserError(
                "these ratings are in the project already", where=f"campaign “{campaign.name}”",
                got=f"{again:,} of {counted(len(ratings), 'rating')} of the file, with the same annotator, output and answer",
                expected="ratings of another campaign", hint="They would count twice. Import the file into another project",
            )  # fmt: skip
    return None


def _said(r: CampaignRating) -> tuple[str, OutputKey, float | None, frozenset[Span]]:
    return r.rater, r.key, r.score, frozenset(r.errors or ())


def _other_names(store: Store, project_id: int, found: CampaignFile) -> UserError | None:
    """Return the reason to refuse a file whose outputs are all missing by name, if most of their texts are in the project."""
    wanted = {(o.system, o.text): o for o in found.dataset.outputs}
    elsewhere: dict[tuple[str, str], Output] = {}
    for part in output_parts(store.projects, project_id, store.projects.index(project_id).keys()):
        elsewhere |= {(o.system, o.text): o for o in part.outputs if (o.system, o.text) in wanted}
    if 2 * len(elsewhere) <= len(wanted):
        return None
    of, other = next((wanted[text], there) for text, there in elsewhere.items())
    return UserError(
        "the texts are in the project under other names",
        got=f"{len(elsewhere):,} of {counted(len(wanted), 'output')}, the first as {shown_segment(of.key.segment)} of the file",
        expected=f"{shown_segment(other.key.segment)}, as in the project",
        hint="They would be added a second time. Use the names of the project in the file, or import it into a new project",
    )  # fmt: skip


def import_campaign(
    store: Store, target: ImportTarget, found: CampaignFile, progress: Progress = no_progress
) -> Imported:
    """Import the texts and ratings of items: everything, or nothing and no new project.

    The first note says how an existing project matches. Raises `ImportProblems` for texts and scores that differ from those of the project,
    and `UserError` for what `match` refuses.
    """
    if target.project_id is None:
        return import_labels(store, target, labels_of(found), progress)
    matched = match(store, target.project_id, found)
    if matched.refused is not None:
        raise matched.refused
    done = import_labels(store, target, labels_of(found), progress)
    return done._replace(notes=(matched.sentence(), sentence(done.report), *done.notes))
