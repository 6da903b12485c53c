"""Read a folder of mt-metrics-eval for `evaluate --mtme`: the texts of a language pair, its human scores, and its metric scores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from core.commands.external_scores import MetricFile
from core.commands.progress import print_note
from core.data import Dataset, OutputKey
from core.errors import UserError, unknown
from core.formats.given_roles import GivenRoles
from core.formats.mtme_folder import MtmeFiles, ScoreFile, chosen_pair, stored_files
from core.services.projects.mtme import missing_sentence, read_texts

MQM = "mqm"


class MtmeFolder(NamedTuple):
    """A language pair in a folder, its texts with an output for each line of each system, and the outputs that are `missing`."""

    path: Path
    files: MtmeFiles
    texts: Dataset
    missing: frozenset[OutputKey]

    def file(self, of: ScoreFile) -> Path:
        return self.path / of.file

    def metrics(self, references: Sequence[str], included: Sequence[str], *, of_systems: bool) -> list[MetricFile]:
        """Return the files of metrics, without those that `left_out` names."""
        out = {m.file for m in self._left_out(references, included)}
        every = self.files.metric_systems if of_systems else self.files.metrics
        return [MetricFile(self.file(m), m.name) for m in every if m.file not in out]

    def excluded(self, included: Sequence[str]) -> list[str]:
        """Return the systems that are references and not among `included`. Raises `UserError` for a name that is no such system."""
        systems = self.files.reference_systems
        if wrong := [name for name in included if name not in systems]:
            raise unknown("reference that is a system, for --include", wrong[0], systems)
        return [name for name in systems if name not in included]

    def notes(self, references: Sequence[str], included: Sequence[str]) -> list[str]:
        """Return what is left out or should be known about references. Raises `UserError` for an unknown reference."""
        used = dict.fromkeys(r for m in (*self.files.metrics, *self.files.metric_systems) for r in m.references)
        if wrong := [name for name in references if name not in used]:
            raise unknown("reference that a metric used, for --reference", wrong[0], used)
        notes = [missing_sentence(self.missing)] if self.missing else []
        if out := self.excluded(included):
            one = len(out) == 1
            notes.append(
                f"Excluded from the comparison because {'it is a reference' if one else 'they are references'}: {', '.join(out)} "
                "(--include NAME compares a system all the same)."
            )
        if left := dict.fromkeys(m.name for m in self._left_out(references, included)):
            notes.append(f"Metrics left out because of the references they used: {', '.join(left)}.")
        if not references and len(used) > 1:
            notes.append(
                f"The metrics used different references ({', '.join(used)}); all are compared. mt-metrics-eval compares those of the "
                "standard reference of a test set, and those without a reference: --reference NAME."
            )
        return notes

    def _left_out(self, references: Sequence[str], included: Sequence[str]) -> list[ScoreFile]:
        """Return the metrics that used a reference that is compared as a system, or one that is not among `references`, if there are any."""
        return [
            m
            for m in (*self.files.metrics, *self.files.metric_systems)
            if set(m.references) & set(included) or (references and not set(m.references) <= set(references))
        ]

    def human(self, name: str | None, scheme: str | None) -> list[Path]:
        """Return the files with the human scores: those of outputs with this name, or the error spans for a weighting scheme and where
        there are no scores of this name. Raises `UserError` if there are several scores or none."""
        scores = {f.name: f for f in self.files.human}
        if scheme is None and name is None and len(scores) > 1:
            raise UserError(
                "the folder has several human scores", where=str(self.path), got=", ".join(scores), expected="one score",
                hint=f"Choose one: --human-score {next(iter(scores))}",
            )  # fmt: skip
        wanted = name or (next(iter(scores), MQM) if scheme is None else MQM)
        if scheme is None and wanted in scores:
            return [self.file(scores[wanted])]
        spans = [f for f in self.files.spans if f.name == wanted or f.name.startswith(f"{wanted}.")]
        if not spans and scheme is not None:
            got = ", ".join(f.name for f in self.files.spans) or "none"
            raise UserError("no error spans for --scheme", where=str(self.path), got=got, expected=f"human-scores/{self.files.pair}.{wanted}.seg.rating")  # fmt: skip
        if not spans and name is not None:
            raise unknown(f"human score in {self.path}", name, [*scores, *(f.name for f in self.files.spans)])
        if not spans:
            hint = "Give them with --human"
            raise UserError("the folder has no human scores of outputs", where=str(self.path), hint=hint)
        return [self.file(f) for f in spans]

    def human_systems(self, files: Sequence[Path]) -> Path | None:
        """Return the file with the human system scores of the same name as the chosen file of human scores, if there is one."""
        names = {f.name for f in self.files.human if self.file(f) in files}
        return next((self.file(f) for f in self.files.human_systems if f.name in names), None)


def open_folder(path: Path, pair: str | None, given: GivenRoles) -> MtmeFolder:
    """Read the texts of a language pair, and print how its files are read. Raises `UserError` and `ImportProblems`."""
    stored = stored_files(path)
    files = chosen_pair(stored, pair, path).with_roles(given)
    print_note(*files.as_read())
    texts, missing = read_texts({file.name: file for file in stored}, files.roles)
    return MtmeFolder(path, files, texts, missing)
