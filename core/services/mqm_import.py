"""Google's MQM TSV into a project: the outputs it holds, and its labels under the names of its raters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from core.data import Dataset, Output, OutputKey, RatedOutput, Segment, SegmentKey
from core.errors import ImportProblems, Problem
from core.formats import google_mqm
from core.formats.files import Upload
from core.formats.problems import Collector, counted, shown
from core.mqm.actions import label_actions
from core.mqm.log import fold
from core.ports import LabelBatch, Store, Told, nobody
from core.services.adding import Imported, Target


class MqmFiles(NamedTuple):
    """What the files hold together. With `problems` nothing is imported; `warnings` are oddities that were read anyway."""

    dataset: Dataset
    rated: tuple[RatedOutput, ...]
    warnings: tuple[Problem, ...] = ()
    problems: tuple[Problem, ...] = ()

    def summary(self) -> str:
        """`529 segments × 15 systems, labels of 7935 outputs by 6 raters`."""
        size = f"{counted(len(self.dataset.segments), 'segment')} × {counted(len(self.dataset.systems), 'system')}"
        return f"{size}, {self.labels()}"

    def labels(self) -> str:
        """`labels of 7935 outputs by 6 raters`."""
        outputs, raters = {r.key for r in self.rated}, {r.rater for r in self.rated}
        return f"labels of {counted(len(outputs), 'output')} by {counted(len(raters), 'rater')}"


def read(files: Sequence[Upload]) -> MqmFiles:
    """Read the files into one. Never raises for what a user may upload; exact copies of a file are read once."""
    segments: dict[SegmentKey, Segment] = {}
    outputs: dict[OutputKey, str] = {}
    rated: list[RatedOutput] = []
    warnings: list[Problem] = []
    problems = Collector()
    for file in dict.fromkeys(files):
        try:
            found = google_mqm.read(file.data, file.name)
        except ImportProblems as error:
            problems.extend(error.problems)
            continue
        rated += found.rated
        warnings += found.warnings
        for segment in found.dataset.segments:
            was = segments.setdefault(segment.key, segment)
            if was.source is None:
                segments[segment.key] = segment
            elif segment.source not in (None, was.source):
                _differs(problems, file.name, f"source of segment {segment.segment_id}", segment.source, was.source)
        for output in found.dataset.outputs:
            if (text := outputs.setdefault(output.key, output.text)) != output.text:
                place = f"output of {output.system}, segment {output.segment_id}"
                _differs(problems, file.name, place, output.text, text)
    if problems:
        return MqmFiles(Dataset((), ()), (), tuple(warnings), problems.closed())
    order = {key: i for i, key in enumerate(segments)}
    written = (Output(*key, text) for key, text in sorted(outputs.items(), key=lambda o: order[o[0].segment]))
    return MqmFiles(Dataset(tuple(segments.values()), tuple(written)), tuple(rated), tuple(warnings))


def _differs(problems: Collector, file: str, place: str, found: str | None, before: str | None) -> None:
    todo = "Keep one of the two, or import the files into two projects"
    problems.add(file, 0, place, shown(found or ""), f"{shown(before or '')}, as in the file before", todo)


def import_labels(store: Store, target: Target, found: MqmFiles, tell: Told = nobody) -> Imported:
    """Import outputs and labels in one transaction: all of the files, or nothing and no new project.

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
