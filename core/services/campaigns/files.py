"""Campaigns as files: read those of other tools, and write ratings in the formats of Appraise, WMT25 and Pearmut."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from core.campaigns.attention_checks import check_from_json
from core.campaigns.design import design_from_json
from core.campaigns.submitted import UnitJudgement
from core.data import Dataset, Judgement, Output, OutputKey, RatedOutput, Span
from core.errors import UserError, unknown
from core.formats.campaigns import appraise, campaign_formats, pearmut, wmt25
from core.formats.campaigns.campaign_file import CampaignFile, CampaignRating
from core.formats.files import Upload
from core.formats.labels.label_file import Written
from core.formats.problems import shown_segment
from core.formatting import format_count
from core.mqm.scores import errors_of
from core.ports.campaigns import Campaign, CampaignUnit
from core.ports.store import Store
from core.progress import Progress, no_progress
from core.services.campaigns.answers import key_of, read_labels
from core.services.export.export import zipped
from core.services.projects.adding import Imported, ImportTarget, sentence
from core.services.projects.label_import import LabelFiles, import_labels
from core.services.projects.texts import joined, output_parts


class CampaignFormat(NamedTuple):
    """A file format of campaigns; `holds` says what a file contains. With `several`, there may be more than one file, and `second` is
    the ending of the second one if it is of another kind."""

    label: str
    ending: str
    holds: str
    write: Callable[[CampaignFile], Written]
    several: bool = False
    second: str = ""

    def part(self, n: int) -> str:
        """Return the ending of the n-th file, from 1."""
        return self.ending if n == 1 else self.second or f"{n}.{self.ending}"


FORMATS: Mapping[str, CampaignFormat] = {
    "appraise": CampaignFormat("Appraise CSV", "csv", "A ZIP with one row per rating (scores, error spans and times), as Appraise exports it, and the batches with the texts.", campaign_formats.write_appraise, True, "batches.json"),
    "wmt25": CampaignFormat("WMT25 JSONL", "jsonl", "One line per segment with the texts and the ratings of each system.", wmt25.write_wmt25),
    "wmt25-spans": CampaignFormat("WMT25 error spans, TSV", "tsv", "A ZIP with one file per annotator of an output; a row has the places of the error spans of an output.", wmt25.write_wmt25_spans, True),
    "pearmut": CampaignFormat("Pearmut JSON", "json", "All units of each annotator with scores and error spans, as Pearmut exports it.", campaign_formats.write_pearmut),
}  # fmt: skip


def export(store: Store, campaign: Campaign, name: str) -> Written:
    """Return the submitted ratings of a campaign in this format, with what it cannot hold. Raises `UserError` for an unknown format.

    Ratings of excluded participants are left out. Checks are included where the format has them.
    """
    if name not in FORMATS:
        raise unknown("format", name, FORMATS)
    return FORMATS[name].write(campaign_file(store, campaign))


def as_file(store: Store, campaign: Campaign, name: str) -> bytes:
    """Return the submitted ratings in this format as one file: a ZIP if the format may have several."""
    written, rating_format = export(store, campaign, name), FORMATS[name]
    if not rating_format.several:
        return "".join(written.texts).encode("utf-8", "surrogatepass")
    files = {f"ratings.{rating_format.part(n)}": text for n, text in enumerate(written.texts, start=1)}
    return zipped(files).read()


def campaign_file(store: Store, campaign: Campaign) -> CampaignFile:
    """Return the submitted ratings with the texts of the outputs that were rated. No other texts are kept."""
    protocol = design_from_json(campaign.design).protocol
    rated_answers = [
        a
        for a in read_labels(store, campaign).answers
        if a.unit.kind in ("item", "check") and a.labels.submitted and not a.excluded and not a.labels.declined
    ]
    of_units = dict.fromkeys(_in_unit(system, a.unit) for a in rated_answers for system in _rated_systems(a.unit))
    texts = {o.key: o.text for part in output_parts(store.projects, campaign.texts, of_units) for o in part.outputs}
    ratings = [r for a in rated_answers for r in _ratings(a, texts, spans="spans" in protocol.asks)]
    used = {r.key for r in ratings if r.kind == "item"}
    keys = store.projects.index(campaign.project_id).ordered(used)
    dataset = joined(output_parts(store.projects, campaign.project_id, keys))
    return CampaignFile(dataset, tuple(r for r in ratings if r.kind != "check" or r.of is None or r.of in used))


def _rated_systems(unit: CampaignUnit) -> Sequence[str]:
    """Return the systems whose outputs of this unit were rated; of a check, that of the changed output."""
    return [check_from_json(unit.details).broken] if unit.kind == "check" else unit.systems


def _in_unit(system: str, unit: CampaignUnit) -> OutputKey:
    """Return the output of a system in the texts project."""
    return OutputKey(system, *key_of(unit.name))


def _ratings(answer: UnitJudgement, texts: Mapping[OutputKey, str], *, spans: bool) -> list[CampaignRating]:
    """Return the ratings of the outputs of a unit; of a check, that of the changed output."""
    unit, ratings = answer.unit, []
    broken = unit.kind == "check"
    for system in _rated_systems(unit):
        of, text = answer.labels.of(system), texts[_in_unit(system, unit)]
        key = OutputKey(system, *unit.of)
        ratings.append(
            CampaignRating(
                answer.rater, key, "check" if broken else "item", errors_of(of, text) if spans else None, of.score,
                answer.began, answer.ended, text if broken else None, None, key if broken else None,
            )
        )  # fmt: skip
    return ratings


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
        said = f"{self.matched:,} of {format_count(self.outputs, 'output')} of the file are in the project with the same text"
        if self.missing:
            be = "is" if self.missing == 1 else "are"
            said += f", {self.missing:,} {be} not there" + (f" and {be} added" if self.refused is None else "")
        if different := self.outputs - self.matched - self.missing:
            said += f", {different:,} {'has' if different == 1 else 'have'} another text or source there"
        coverage = "Every output of the project is in the file" if not self.unrated else (
            f"{format_count(self.unrated, 'output')} of the project {'is' if self.unrated == 1 else 'are'} not in the file"
        )  # fmt: skip
        return f"{said}. {coverage}."


def read_campaign_file(
    name: str, upload: Upload, texts: Upload | None = None, campaign: str | None = None
) -> CampaignFile:
    """Read a file in this format (`exporting.FORMATS`). `texts` are the batches with the texts, which only Appraise's CSV needs.
    `campaign` is one of those in a file of Pearmut.

    Raises `UserError` for an unknown format or texts that the format does not need, and `ImportProblems` for a file that cannot be read.
    """
    if name not in FORMATS:
        raise unknown("format", name, FORMATS)
    if name == "appraise":
        return appraise.read_appraise(upload, texts)
    if texts is not None:
        raise UserError("this format has its own texts", got=texts.name, hint="Leave the file of texts out")
    if name == "pearmut":
        return pearmut.read_pearmut(upload, campaign)
    return wmt25.read_wmt25(upload) if name == "wmt25" else wmt25.read_wmt25_spans(upload)


def labels_of(file: CampaignFile) -> LabelFiles:
    """Return the ratings of items as labels and judgements; checks and tutorials are left out."""
    items = file.of_kind("item")
    rated = tuple(RatedOutput(r.key, r.rater, r.all_errors) for r in items if r.all_errors is not None)
    name = "ESA" if any(r.errors is not None for r in items) else "DA"
    scores = tuple(Judgement(r.key, r.rater, name, r.score) for r in items if r.score is not None)
    scores += tuple(Judgement(r.key, r.rater, *slider) for r in items for slider in r.sliders)
    return LabelFiles(file.dataset, rated, file.warnings, (), scores)


def ratings_of(judged: Iterable[Judgement], rated: Iterable[RatedOutput], name: str) -> CampaignFile:
    """Return the ratings of items that a project keeps, without texts: scores of this name with the error spans of the same raters; with
    "" all error spans. Attention checks, tutorials and times of the files are not kept."""
    errors = {(r.rater, r.key): r.errors for r in rated}
    scores = {(j.rater, j.key): j.value for j in judged if name and j.name == name}
    return CampaignFile(
        Dataset((), ()),
        tuple(CampaignRating(*of, "item", errors.get(of), scores.get(of)) for of in (scores if name else errors)),
    )


def match(store: Store, project_id: int, file: CampaignFile) -> CampaignMatch:
    """Compare a file with an existing project, of which only the segments of the file are read unless none of its outputs is there.

    A file is refused if its ratings are those of a campaign of the project, which would count twice, or if its texts are in the project
    under other names only.
    """
    stored = store.projects.texts(project_id, [s.key for s in file.dataset.segments])
    stored_texts, sources = {o.key: o.text for o in stored.outputs}, {s.key: s.source for s in stored.segments}
    of_file = {s.key: s.source for s in file.dataset.segments}
    known = [o for o in file.dataset.outputs if o.key in stored_texts]
    same = [
        o for o in known
        if stored_texts[o.key] == o.text and (None in (s := (of_file[o.key.segment], sources[o.key.segment])) or s[0] == s[1])
    ]  # fmt: skip
    n = len(file.dataset.outputs)
    unrated = store.projects.get(project_id).n_outputs - len(known)
    refused = _own_campaign(store, project_id, file) or (None if known else _other_names(store, project_id, file))
    return CampaignMatch(n, len(same), n - len(known), unrated, refused)


def _own_campaign(store: Store, project_id: int, file: CampaignFile) -> UserError | None:
    """Return the reason to refuse ratings, most of which are results of a campaign of the project."""
    ratings = {_said(r) for r in file.of_kind("item")}
    for campaign in store.campaigns.list(project_id):
        again = len(ratings.intersection(map(_said, campaign_file(store, campaign).of_kind("item"))))
        if 2 * again > len(ratings):
            return UserError(
                "these ratings are in the project already", where=f"campaign “{campaign.name}”",
                got=f"{again:,} of {format_count(len(ratings), 'rating')} of the file, with the same annotator, output and answer",
                expected="ratings of another campaign", hint="They would count twice. Import the file into another project",
            )  # fmt: skip
    return None


def _said(r: CampaignRating) -> tuple[str, OutputKey, float | None, frozenset[Span]]:
    return r.rater, r.key, r.score, frozenset(r.errors or ())


def _other_names(store: Store, project_id: int, file: CampaignFile) -> UserError | None:
    """Return the reason to refuse a file whose outputs are all missing by name, if most of their texts are in the project."""
    of_file = {(o.system, o.text): o for o in file.dataset.outputs}
    in_project: dict[tuple[str, str], Output] = {}
    for part in output_parts(store.projects, project_id, store.projects.index(project_id).keys()):
        in_project |= {(o.system, o.text): o for o in part.outputs if (o.system, o.text) in of_file}
    if 2 * len(in_project) <= len(of_file):
        return None
    of, other = next((of_file[text], stored) for text, stored in in_project.items())
    return UserError(
        "the texts are in the project under other names",
        got=f"{len(in_project):,} of {format_count(len(of_file), 'output')}, the first as {shown_segment(of.key.segment)} of the file",
        expected=f"{shown_segment(other.key.segment)}, as in the project",
        hint="They would be added a second time. Use the names of the project in the file, or import it into a new project",
    )  # fmt: skip


def import_campaign(
    store: Store, target: ImportTarget, file: CampaignFile, progress: Progress = no_progress
) -> Imported:
    """Import the texts and ratings of items: everything, or nothing and no new project.

    The first note says how an existing project matches. Raises `ImportProblems` for texts and scores that differ from those of the project,
    and `UserError` for what `match` refuses.
    """
    if target.project_id is None:
        return import_labels(store, target, labels_of(file), progress)
    matched = match(store, target.project_id, file)
    if matched.refused is not None:
        raise matched.refused
    done = import_labels(store, target, labels_of(file), progress)
    return done._replace(notes=(matched.sentence(), sentence(done.report), *done.notes))
