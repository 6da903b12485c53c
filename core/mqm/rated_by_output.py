"""Submitted labels by output, with MQM scores of all outputs computed from arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from core.columns import ProjectIndex
from core.data import SEVERITIES, OutputKey, RatedOutput, SegmentKey
from core.mqm.label_columns import WHOLE_TEXT, ErrorKind, Ints, LabelColumns, Mask
from core.mqm.schemes import Scheme
from core.mqm.scores import DECIMALS, SegmentScore, SystemScore, mean_of_system
from core.mqm.typology import is_non_translation

Floats = npt.NDArray[np.float64]


class RaterRow(NamedTuple):
    """One rater's work: outputs of submitted segments, errors by severity (non-translations apart), mean MQM score (≤ 0).

    `seconds` is the time spent on the `timed` segments annotated here; None if all labels were imported.
    """

    rater: str
    outputs: int
    segments: int
    clean: int
    non_translations: int
    errors: Mapping[str, int]
    score: float
    seconds: float | None
    timed: int


class RatedByOutput(Mapping[OutputKey, list[RatedOutput]]):
    """The rated outputs in some rows of `labels`, by output, in the order in which they appear. All rated outputs if `rows` is None."""

    def __init__(self, labels: LabelColumns, rows: Ints | None = None) -> None:
        self._labels = labels
        self._n_systems = max(1, len(labels.names.systems.values))
        rows = labels.rated_rows if rows is None else rows
        segments = labels.places.segment[labels.place_of_row[rows]].astype(np.int64)
        outputs = segments * self._n_systems + labels.rows.system[rows]
        order = np.argsort(outputs, kind="stable")
        self._rows = rows[order]
        self._outputs, self._first, counts = np.unique(outputs[order], return_index=True, return_counts=True)
        self.n_raters: Ints = counts
        """The number of raters of each output, in no particular order."""

    # ── by output ────────────────────────────────────────────────────────────────────────────────────────────────────

    def __len__(self) -> int:
        return len(self._outputs)

    def __getitem__(self, key: OutputKey) -> list[RatedOutput]:
        at = self._at(key)
        if at is None:
            raise KeyError(key)
        return list(self._labels.each(self._rows[self._first[at] : self._first[at] + self.n_raters[at]]))

    def __contains__(self, key: object) -> bool:
        return isinstance(key, OutputKey) and self._at(key) is not None

    def _at(self, key: OutputKey) -> int | None:
        names = self._labels.names
        segment, system = names.segments.number.get(key.segment, -1), names.systems.number.get(key.system, -1)
        if segment < 0 or not 0 <= system < self._n_systems:
            return None
        code = segment * self._n_systems + system
        at = int(np.searchsorted(self._outputs, code))
        return at if at < len(self._outputs) and self._outputs[at] == code else None

    def __iter__(self) -> Iterator[OutputKey]:
        return map(self._key, self._outputs[self._in_order].tolist())

    def _key(self, output: int) -> OutputKey:
        names = self._labels.names
        segment, system = divmod(output, self._n_systems)
        return OutputKey(names.systems.values[system], *names.segments.values[segment])

    @cached_property
    def _in_order(self) -> Ints:
        """Return the positions of the outputs in the order of their first labels."""
        order: Ints = np.argsort(self._rows[self._first], kind="stable")
        return order

    @property
    def raters(self) -> list[str]:
        """Return the raters in no particular order."""
        of_row = self._labels.places.rater[self._labels.place_of_row[self._rows]]
        return [self._labels.names.raters.values[i] for i in np.unique(of_row).tolist()]

    def n_rated(self) -> dict[str, int]:
        """Return the number of outputs that each rater has rated, in the order in which raters appear."""
        of_row = self._labels.places.rater[self._labels.place_of_row[self._rows]]
        counts = np.bincount(of_row, minlength=len(self._labels.names.raters.values)).tolist()
        numbers = ((rater, self._labels.names.raters.number[rater]) for rater in self._labels.raters)
        return {rater: counts[number] for rater, number in numbers if counts[number]}

    def of_rater(self, rater: str) -> Iterator[RatedOutput]:
        """Yield what one rater has rated, by segment and system as they first appeared."""
        of_row = self._labels.places.rater[self._labels.place_of_row[self._rows]]
        return self._labels.each(self._rows[of_row == self._labels.names.raters.number.get(rater, -1)])

    def n_raters_of(self, key: OutputKey) -> int:
        at = self._at(key)
        return 0 if at is None else int(self.n_raters[at])

    def n_raters_in(self, index: ProjectIndex) -> npt.NDArray[np.int64]:
        """Return the number of raters of each output of a project, shape (n_segments, n_systems)."""
        counts = np.zeros(index.shape, dtype=np.int64)
        in_project, i, j = self._labels.cells(index, self._rows[self._first])
        counts[i, j] = self.n_raters[in_project]
        return counts

    def having(
        self, index: ProjectIndex, rater: Callable[[str], bool], error: Callable[[ErrorKind], bool] | None
    ) -> Mask:
        """Return which outputs of a project have labels by such a rater with such an error (any or none if `error` is None)."""
        labels, names = self._labels, self._labels.names
        row_mask = _which(map(rater, names.raters.values))[labels.places.rater[labels.place_of_row[self._rows]]]
        if error is not None:
            kinds = _which(map(error, names.kinds.values))
            spans, row = labels.span_rows(self._rows)
            has = (labels.rows.whole[self._rows] > 0) & error(WHOLE_TEXT)
            has[row[kinds[labels.spans.kind[spans]]]] = True
            row_mask &= has
        matching = np.zeros(index.shape, dtype=bool)
        in_project, i, j = self._labels.cells(index, self._rows[self._first])
        matching[i, j] = np.add.reduceat(row_mask, self._first)[in_project] > 0 if len(row_mask) else False
        return matching

    # ── MQM scores ───────────────────────────────────────────────────────────────────────────────────────────────────

    def penalties(self, scheme: Scheme) -> Floats:
        """Return the penalty of each row (`core.mqm.scores.rater_penalty`). Raises `UserError` for a severity unknown to the scheme."""
        labels = self._labels
        spans, row = labels.span_rows(self._rows)
        kinds = labels.spans.kind[spans]
        non_translation = _which(is_non_translation(category) for _, _, category in labels.names.kinds.values)
        whole = labels.rows.whole[self._rows] > 0
        whole[row[non_translation[kinds]]] = True
        if scheme.non_translation is None:
            whole = np.zeros_like(whole)
        counted = ~whole[row]
        weights = np.zeros(len(labels.names.kinds.values))
        for kind in np.unique(kinds[counted]).tolist():
            _, severity, category = labels.names.kinds.values[kind]
            weights[kind] = scheme.weight(severity, category)
        penalties = np.bincount(row[counted], weights[kinds[counted]], minlength=len(self._rows)).astype(np.float64)
        if scheme.non_translation is not None:
            penalties[whole] = scheme.non_translation
        elif (verdicts := labels.rows.whole[self._rows] > 0).any():
            penalties[verdicts] = scheme.weight(*WHOLE_TEXT[1:])
        return penalties

    def scores(self, scheme: Scheme) -> Floats:
        """Return the MQM score of each output, ≤ 0, in the order of `n_raters`: minus the mean penalty, as `core.mqm.scores.segment_scores`."""
        if not len(self):
            return np.zeros(0)
        means: Floats = np.add.reduceat(self.penalties(scheme), self._first) / self.n_raters
        return 0.0 - means.round(DECIMALS)

    def scores_of(self, keys: Iterable[OutputKey], scheme: Scheme) -> dict[OutputKey, float]:
        """Return the MQM scores of those of these outputs that have labels."""
        scores = self.scores(scheme)
        return {key: float(scores[at]) for key in keys if (at := self._at(key)) is not None}

    def scores_in(self, index: ProjectIndex, scheme: Scheme) -> Floats:
        """Return the MQM score of each output of a project, shape (n_segments, n_systems); NaN without labels."""
        scores = np.full(index.shape, np.nan)
        in_project, i, j = self._labels.cells(index, self._rows[self._first])
        scores[i, j] = self.scores(scheme)[in_project]
        return scores

    def segment_scores(self, scheme: Scheme) -> list[SegmentScore]:
        """Return what `core.mqm.scores.segment_scores` does."""
        scores, counts, at = self.scores(scheme), self.n_raters, self._in_order
        keys = map(self._key, self._outputs[at].tolist())
        return [
            SegmentScore(*key, score, n)
            for key, score, n in zip(keys, scores[at].tolist(), counts[at].tolist(), strict=True)
        ]

    def system_scores(self, scheme: Scheme) -> list[SystemScore]:
        """Return what `core.mqm.scores.system_scores` does."""
        labels, scores = self._labels, self.scores(scheme)
        systems = self._outputs % self._n_systems
        raters = labels.places.rater[labels.place_of_row[self._rows]]
        of_row = labels.rows.system[self._rows]
        means = [
            mean_of_system(
                labels.names.systems.values[i], scores[systems == i].tolist(), len(np.unique(raters[of_row == i]))
            )
            for i in np.unique(systems).tolist()
        ]
        return sorted(means, key=lambda s: (-s.score, s.system))

    # ── raters ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def table(self, scheme: Scheme) -> tuple[tuple[str, ...], list[SegmentKey], Floats]:
        """Return the raters in the order in which they appear, the segment of each output, and the scores of all raters.

        Scores (≤ 0) have shape (n_raters, n_outputs), in the order of the outputs; NaN where a rater gave none.
        """
        labels, order = self._labels, self._in_order
        rater = labels.places.rater[labels.place_of_row[self._rows]]
        raters = self._raters_in_order(rater)
        at = np.zeros(len(labels.names.raters.values), dtype=np.int64)
        at[raters] = np.arange(len(raters))
        column = np.empty(len(order), dtype=np.int64)
        column[order] = np.arange(len(order))
        scores = np.full((len(raters), len(order)), np.nan)
        scores[at[rater], np.repeat(column, self.n_raters)] = 0.0 - self.penalties(scheme).round(DECIMALS)
        names = tuple(labels.names.raters.values[i] for i in raters)
        segments = (self._outputs // self._n_systems)[order].tolist()
        return names, [labels.names.segments.values[i] for i in segments], scores

    def _raters_in_order(self, rater: npt.NDArray[np.int32]) -> list[int]:
        distinct, first = np.unique(rater[np.argsort(self._rows)], return_index=True)
        return [int(i) for i in distinct[np.argsort(first)]]

    def rater_rows(self, scheme: Scheme) -> tuple[RaterRow, ...]:
        """Return the work of each rater, in the order in which they appear."""
        labels = self._labels
        places = labels.place_of_row[self._rows]
        rater, scores = labels.places.rater[places], 0.0 - self.penalties(scheme)
        spans, row = labels.span_rows(self._rows)
        kinds, names = labels.spans.kind[spans], list(labels.names.kinds.values)
        not_translated = _which(is_non_translation(category) for _, _, category in names)
        whole = labels.rows.whole[self._rows] > 0
        whole[row[not_translated[kinds]]] = True
        clean = ~whole & (labels.rows.spans[self._rows] == 0)
        work = []
        for number in self._raters_in_order(rater):
            mine = rater == number
            counts = np.bincount(kinds[mine[row]], minlength=len(names)) * ~not_translated
            of_mine = np.unique(places[mine])
            timed = of_mine[labels.places.labelled_here[of_mine] > 0]
            seconds = labels.places.seconds[timed]
            work.append(
                RaterRow(
                    labels.names.raters.values[number], int(mine.sum()), len(of_mine), int((mine & clean).sum()),
                    int((mine & whole).sum()),
                    {s: sum(int(n) for n, (_, of, _) in zip(counts, names, strict=True) if of == s) for s in SEVERITIES},
                    float(scores[mine].mean()), float(seconds.sum()) if len(seconds) else None, len(timed),
                )
            )  # fmt: skip
        return tuple(work)


def _which(values: Iterable[bool]) -> Mask:
    return np.fromiter(values, dtype=np.bool_)
