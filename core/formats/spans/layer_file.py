"""The contents of a file of error spans, matched with the outputs of a project; what is left out is listed with its reason.

Outputs are named by system, document and segment, or by their texts. Texts are compared without blanks at both ends, which COMET
removes; equal texts of several outputs get the same spans. Nothing is guessed: what has no certain place is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from core.data import Dataset, OutputKey, Side, Span, grouped
from core.errors import UserError
from core.formats.files import Upload, base_name
from core.formats.problems import Collector, shown
from core.spans.layers import LayerSpan, Spans
from core.spans.quotes import OUTCOMES, Quote, folded, place_quotes

OUTSIDE = "offsets outside the text"
DIFFERENT_TEXT = "the text differs from the project’s"
NO_OUTPUT = "the project does not have the output"
OTHER_TEXT = "offsets and quoted text differ"
SEVERITY = "severity unknown"
CRITICAL = "critical errors, read as Major"
BY_TEXT = "several outputs with the same texts"
_SEVERITIES = {"critical": "Major", "major": "Major", "minor": "Minor", "neutral": "Neutral"}


class OmittedSpan(NamedTuple):
    """Something that a file has and the layer does not: its line or number in the file, the output, what it is, and why."""

    line: int
    output: str
    what: str
    reason: str


class LayerFile(NamedTuple):
    """The spans of a file by output, what was left out, and what was read in a way that one should know (with counts)."""

    spans: Mapping[OutputKey, Spans]
    left_out: Sequence[OmittedSpan]
    notes: Mapping[str, int]

    @property
    def reasons(self) -> dict[str, int]:
        """Return what was left out as counts by reason, most frequent first."""
        return dict(Counter(of.reason for of in self.left_out).most_common())


class OutputNames(NamedTuple):
    """How a record names its output; None for what it does not say."""

    system: str | None = None
    doc_id: str | None = None
    segment_id: str | None = None
    text: str | None = None
    source: str | None = None

    def __str__(self) -> str:
        named = [part for part in (self.system, self.doc_id, self.segment_id) if part is not None]
        return " / ".join([*named, *([] if self.segment_id is not None else [shown(self.text or "")])])


class LayerReading:
    """Collects the spans of a file. `texts` are the outputs of the project."""

    def __init__(self, upload: Upload, texts: Dataset) -> None:
        self.file, self.problems = base_name(upload.name), Collector()
        self._sources = {s.key: s.source for s in texts.segments}
        self._texts = {o.key: o.text for o in texts.outputs}
        self._by_text = grouped((o.text.strip(), o.key) for o in texts.outputs)
        self._by_segment = grouped(((o.system, o.segment_id), o.key) for o in texts.outputs)
        self._spans: dict[OutputKey, Spans] = {}
        self._left_out: list[OmittedSpan] = []
        self.notes = Counter[str]()

    def leave_out(self, line: int, output: object, what: str, reason: str) -> None:
        self._left_out.append(OmittedSpan(line, str(output), what, reason))

    def outputs(self, line: int, names: OutputNames) -> list[OutputKey]:
        """Return the outputs that a record names; none, which is listed, if the project does not have it or has another text."""
        if names.system is not None and names.segment_id is not None:
            keys = self._by_segment.get((names.system, names.segment_id), [])
            keys = [key for key in keys if names.doc_id is None or key.doc_id == names.doc_id]
            if len(keys) > 1:
                self.leave_out(line, names, "output", "segments of several documents have this name")
                return []
        else:
            keys = self._by_text.get((names.text or "").strip(), [])
            of_system = [key for key in keys if key.system == names.system]
            keys = of_system or keys
            if names.source is not None:
                keys = [key for key in keys if (self._sources[key.segment] or "").strip() == names.source.strip()]
            self.notes[BY_TEXT] += len(keys) > 1
        if not keys:
            self.leave_out(line, names, "output", NO_OUTPUT)
        if names.text is not None and any(self._texts[key].strip() != names.text.strip() for key in keys):
            self.leave_out(line, names, "output", DIFFERENT_TEXT)
            return []
        return keys

    def _severity(self, name: str) -> str | None:
        """Return one of our severities; None for an unknown one."""
        plain = name.strip().casefold()
        self.notes[CRITICAL] += plain == "critical"
        return _SEVERITIES.get(plain)

    def span(
        self, line: int, key: OutputKey, quote: Quote, place: tuple[int, int], text_of_record: str | None = None
    ) -> LayerSpan | None:
        """Return a span from its offsets; None, which is listed, if they do not fit the text or what the file quotes.

        The text of the record may lack blanks before the output, which moves the offsets. A blank at either end of the place that the
        quoted text lacks is no part of the span (COMET issue 179).
        """
        (start, end), quoted = place, quote.text or None
        side: Side = quote.side or "output"
        text = self._texts[key] if side == "output" else self._sources[key.segment] or ""
        known = self._severity(quote.severity)
        what = f"{side} [{start}, {end})" + (f" {shown(quoted)}" if quoted else "")
        if side == "output" and text_of_record is not None and text_of_record != text:
            moved = text.find(text_of_record.strip()) - text_of_record.find(text_of_record.strip())
            start, end = start + moved, end + moved
        if known is None:
            self.leave_out(line, " / ".join(key), what, f"{SEVERITY}: {quote.severity}")
            return None
        if not 0 <= start <= end <= len(text):
            self.leave_out(line, " / ".join(key), what, OUTSIDE)
            return None
        if quoted is not None and text[start:end] != quoted:
            if _solid(text[start:end]) != _solid(quoted):
                self.leave_out(line, " / ".join(key), what, OTHER_TEXT)
                return None
            marked = text[start:end]
            start += 0 if quoted[:1].isspace() else len(marked) - len(marked.lstrip())
            end -= 0 if quoted[-1:].isspace() else len(marked) - len(marked.rstrip())
        span = Span(side, start, end, text[start:end], known, quote.category, quote.note)
        return LayerSpan(span, quote.confidence)

    def quotes(self, line: int, key: OutputKey, quotes: Iterable[Quote]) -> list[LayerSpan]:
        """Return the spans of quotes; those without a place are listed."""
        kept = []
        for quote in quotes:
            known = self._severity(quote.severity)
            if known is None:
                self.leave_out(line, " / ".join(key), shown(quote.text), f"{SEVERITY}: {quote.severity}")
            else:
                kept.append(quote._replace(severity=known))
        spans = []
        for placed in place_quotes(kept, self._texts[key], self._sources[key.segment]):
            if placed.span is None:
                self.leave_out(line, " / ".join(key), shown(placed.quote.text), OUTCOMES[placed.outcome])
            else:
                self.notes[f"quotes {OUTCOMES[placed.outcome]}"] += placed.outcome != "exact"
                spans.append(placed.span)
        return spans

    def add(self, line: int, key: OutputKey, spans: Iterable[LayerSpan | None]) -> None:
        """Add the spans of an examined output. A second record with other spans is a problem."""
        new = tuple(span for span in spans if span is not None)
        if self._spans.setdefault(key, new) != new:
            got = f"a second record of {' / '.join(key)}"
            self.problems.add(self.file, line, "", got, "one record per output", "Remove one of the two")

    def done(self) -> LayerFile:
        """Return what was read. Raises `ImportProblems`, or `UserError` if no output of the project is in the file."""
        self.problems.check()
        if not self._spans:
            reasons = "; ".join(f"{n:,} × {of}" for of, n in Counter(of.reason for of in self._left_out).items())
            raise UserError(
                "the file has no error spans for this project", where=self.file, got=reasons or "no record",
                hint="Check that the file belongs to the outputs of this project, and its format",
            )  # fmt: skip
        return LayerFile(self._spans, self._left_out, {name: n for name, n in self.notes.items() if n})


def _solid(text: str) -> str:
    return folded(text).replace(" ", "")
