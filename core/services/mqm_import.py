"""Files of labels, in whatever format, into a project: the outputs they hold, labels under the names of their raters, scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from core.data import Dataset, HumanScore, Output, OutputKey, RatedOutput, Segment, SegmentKey
from core.errors import ImportProblems, Problem
from core.formats import judgements
from core.formats.files import Upload
from core.formats.judgements import Judgement, Judgements
from core.formats.label_file import LabelFile, Severities
from core.formats.label_formats import FORMATS, guess, label_format
from core.formats.mtme_rating import needed
from core.formats.problems import Collector, counted, shown
from core.mqm.actions import label_actions
from core.mqm.log import fold
from core.ports import LabelBatch, Store, Told, nobody
from core.services.adding import Imported, Target
from core.stats.rater_scale import standardised

Z = " z"
"""What is put after the name of a score for its z-score."""


class MqmFiles(NamedTuple):
    """What the files hold together. With `problems` nothing is imported; `warnings` are oddities that were read anyway."""

    dataset: Dataset
    rated: tuple[RatedOutput, ...]
    warnings: tuple[Problem, ...] = ()
    problems: tuple[Problem, ...] = ()

    def summary(self) -> str:
        """`529 segments × 15 systems, labels of 7935 outputs by 6 raters`."""
        size = f"{counted(len(self.dataset.segments), 'segment')} × {counted(len(self.dataset.systems), 'system')}"
        names = ", ".join(dict.fromkeys(h.name for h in self.dataset.human_scores))
        scores = f"{counted(len(self.dataset.human_scores), 'human score')} ({names})" if names else ""
        return ", ".join(filter(None, (size, self.labels(), scores)))

    def labels(self) -> str:
        """`labels of 7935 outputs by 6 raters`; "" where the files hold scores only."""
        outputs, raters = {r.key for r in self.rated}, {r.rater for r in self.rated}
        return f"labels of {counted(len(outputs), 'output')} by {counted(len(raters), 'rater')}" if outputs else ""


def without_texts(files: Sequence[Upload], formats: Mapping[str, str]) -> list[str]:
    """The names of the files that hold no texts in their format, so that the outputs they speak of must be known."""
    return [
        f.name
        for f in dict.fromkeys(files)
        if FORMATS[formats[f.name]].needs_texts and not (formats[f.name] == "judgements" and judgements.holds_texts(f))
    ]


def read(
    files: Sequence[Upload],
    formats: Mapping[str, str] | None = None,
    texts: Dataset | None = None,
    severities: Severities | None = None,
) -> MqmFiles:
    """Read the files into one, each in its format (guessed by default); `texts` for the formats that hold none.

    Never raises for what a user may upload; exact copies of a file are read once.
    """
    segments: dict[SegmentKey, Segment] = {}
    outputs: dict[OutputKey, str] = {}
    scores: dict[tuple[str, str, str, str], float] = {}
    rated: list[RatedOutput] = []
    warnings: list[Problem] = []
    problems = Collector()
    for file in dict.fromkeys(files):
        try:
            found = _read(file, (formats or {}).get(file.name) or guess(file) or "google", texts, severities)
        except ImportProblems as error:
            problems.extend(error.problems)
            continue
        rated += found.rated
        warnings += found.warnings
        for segment in found.dataset.segments:
            was = segments.setdefault(segment.key, segment)
            if segment.source not in (None, was.source) and was.source is not None:
                _differs(problems, file.name, f"source of segment {segment.segment_id}", segment.source, was.source)
            segments[segment.key] = Segment(
                *segment.key, was.source or segment.source, was.references or segment.references
            )
        for output in found.dataset.outputs:
            if (text := outputs.setdefault(output.key, output.text)) != output.text:
                place = f"output of {output.system}, segment {output.segment_id}"
                _differs(problems, file.name, place, output.text, text)
        for h in found.dataset.human_scores:
            if (value := scores.setdefault(h[:4], h.value)) != h.value:
                place = f"{h.name} of {h.system}, segment {h.segment_id}"
                _differs(problems, file.name, place, f"{h.value:g}", f"{value:g}")
    if problems:
        return MqmFiles(Dataset((), ()), (), tuple(warnings), problems.closed())
    order = {key: i for i, key in enumerate(segments)}
    written = (Output(*key, text) for key, text in sorted(outputs.items(), key=lambda o: order[o[0].segment]))
    human = tuple(HumanScore(*key, value) for key, value in scores.items())
    return MqmFiles(Dataset(tuple(segments.values()), tuple(written), human), tuple(rated), tuple(warnings))


def _read(file: Upload, name: str, texts: Dataset | None, severities: Severities | None) -> LabelFile:
    known = severities or Severities()
    if name != "judgements":
        return label_format(name).read(file, known, texts)
    parsed = judgements.parse(file)
    held = None if parsed.texts else needed(file, texts)
    return judgements.gathered(file, parsed, known, held, z_scores(parsed))


def z_scores(parsed: Judgements) -> list[Judgement]:
    """Each score on its rater's own scale, where several raters gave it and the file brings no z of its own.

    A rater with one score only, or always the same, has none.
    """
    made: list[Judgement] = []
    if any(j.name.strip().casefold() in ("z", "z-score", "zscore") for j in parsed.scores):
        return made
    for name in dict.fromkeys(j.name for j in parsed.scores):
        of_name = [j for j in parsed.scores if j.name == name]
        if len({j.rater for j in of_name}) > 1:
            z = standardised([j.rater for j in of_name], [j.value for j in of_name]).z
            made += [
                j._replace(name=name + Z, value=float(v)) for j, v in zip(of_name, z, strict=True) if not np.isnan(v)
            ]
    return made


def _differs(problems: Collector, file: str, place: str, found: str | None, before: str | None) -> None:
    todo = "Keep one of the two, or import the files into two projects"
    problems.add(file, 0, place, shown(found or ""), f"{shown(before or '')}, as in the file before", todo)


def import_labels(store: Store, target: Target, found: MqmFiles, tell: Told = nobody) -> Imported:
    """Import outputs, scores and labels in one transaction: all of the files, or nothing and no new project.

    Importing a file twice adds nothing. What raters have since made of imported labels stays; the notes say where the
    files have it otherwise. Raises `ImportProblems` and `UserError` as `adding.add` does.
    """
    if found.problems:
        raise ImportProblems(found.problems)
    new = target.project_id is None
    project_id = store.projects.create(target.name).id if target.project_id is None else target.project_id
    try:
        events = store.labels.events(project_id)
        wanted = label_actions(found.rated, fold(events), {e.action.id for e in events})
        batches = [LabelBatch(rater, segment, actions) for (rater, segment), actions in wanted.actions.items()]
        report = store.projects.add(project_id, found.dataset, batches, tell)
    except BaseException:
        if new:
            store.projects.delete(project_id)
        raise
    return Imported(store.projects.get(project_id), report, wanted.notes, report.labelled)
