"""Campaigns as files: the ratings in the formats of Appraise, WMT25 and Pearmut."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from core.campaigns.attention_checks import check_from_json
from core.campaigns.design import design_from_json
from core.campaigns.submitted import UnitJudgement
from core.data import OutputKey
from core.errors import unknown
from core.formats.campaigns import appraise_write, pearmut_write, wmt25, wmt25_spans
from core.formats.campaigns.campaign_file import CampaignFile, CampaignRating
from core.formats.labels.label_file import Written
from core.mqm.scores import errors_of
from core.ports.campaigns import Campaign, CampaignUnit
from core.ports.store import Store
from core.services.campaigns.answers import key_of, read_labels
from core.services.export.export import zipped
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
    "appraise": CampaignFormat("Appraise CSV", "csv", "A ZIP with one row per rating (scores, error spans and times), as Appraise exports it, and the batches with the texts.", appraise_write.write, True, "batches.json"),
    "wmt25": CampaignFormat("WMT25 JSONL", "jsonl", "One line per segment with the texts and the ratings of each system.", wmt25.write),
    "wmt25-spans": CampaignFormat("WMT25 error spans, TSV", "tsv", "A ZIP with one file per annotator of an output; a row has the places of the error spans of an output.", wmt25_spans.write, True),
    "pearmut": CampaignFormat("Pearmut JSON", "json", "All units of each annotator with scores and error spans, as Pearmut exports it.", pearmut_write.write),
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
    written, wanted = export(store, campaign, name), FORMATS[name]
    if not wanted.several:
        return "".join(written.texts).encode("utf-8", "surrogatepass")
    files = {f"ratings.{wanted.part(n)}": text for n, text in enumerate(written.texts, start=1)}
    return zipped(files).read()


def campaign_file(store: Store, campaign: Campaign) -> CampaignFile:
    """Return the submitted ratings with the texts of the outputs that were rated. No other texts are kept."""
    protocol = design_from_json(campaign.design).protocol
    given = [
        a
        for a in read_labels(store, campaign).answers
        if a.unit.kind in ("item", "check") and a.labels.submitted and not a.excluded and not a.labels.declined
    ]
    of_units = dict.fromkeys(_in_unit(system, a.unit) for a in given for system in _rated_systems(a.unit))
    texts = {o.key: o.text for part in output_parts(store.projects, campaign.texts, of_units) for o in part.outputs}
    ratings = [r for a in given for r in _ratings(a, texts, spans="spans" in protocol.asks)]
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
    unit, found = answer.unit, []
    broken = unit.kind == "check"
    for system in _rated_systems(unit):
        of, text = answer.labels.of(system), texts[_in_unit(system, unit)]
        key = OutputKey(system, *unit.of)
        found.append(
            CampaignRating(
                answer.rater, key, "check" if broken else "item", errors_of(of, text) if spans else None, of.score,
                answer.began, answer.ended, text if broken else None, None, key if broken else None,
            )
        )  # fmt: skip
    return found
