"""`convert`: labels from one format into another, saying what does not come along."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from core.data import OutputKey
from core.errors import ImportProblems, UserError
from core.formats import mtme_score, output
from core.formats.label_file import Severities, Written
from core.formats.label_formats import guess, label_format
from core.formats.load import load, read_upload
from core.services.export import write_labels
from core.services.mqm_import import MqmFiles, read


def run(
    paths: Sequence[Path],
    to: str,
    out: Path,
    texts: Sequence[Path] = (),
    source: str | None = None,
    severities: Sequence[str] = (),
    score: str | None = None,
) -> list[str]:
    """Write the labels of `paths` in the format `to`; returns what was odd in the files and what the format does not hold.

    `source` names the format of the files (told from their content by default), `texts` the outputs for formats that hold
    none, `severities` are renamed as "theirs=ours". With `score` a human score of that name is written instead of labels,
    as `.seg.score`. Where a file holds one rating of an output and some have more, the further files are numbered.
    Raises `UserError` and `ImportProblems`, and writes nothing then.
    """
    label_format(to)
    inputs = [*output.named("the labels", *paths), *output.named("--texts", *texts)]
    output.check(inputs, [("--out", out)])
    uploads = [read_upload(path) for path in paths]
    formats = {u.name: label_format(source).name if source else guess(u) or "" for u in uploads}
    if unknown := [name for name, found in formats.items() if not found]:
        raise UserError("what format this is cannot be told", where=unknown[0], hint="Name it with --from")
    found = read(uploads, formats, load(texts) if texts else None, Severities(dict(map(_renamed, severities))))
    if found.problems:
        raise ImportProblems(found.problems)
    written = _of_score(found, to, score) if score else _of_labels(found, to)
    names = [out] if len(written.texts) < 2 else [_numbered(out, n) for n in range(1, len(written.texts) + 1)]
    output.check(inputs, output.named("--out", *names))
    output.write(dict(zip(names, written.texts, strict=True)))
    also = [f"written: {', '.join(map(str, names))}"] if len(names) > 1 else []
    return [*also, *written.lost, *(w.sentence() for w in found.warnings)]


def _renamed(said: str) -> tuple[str, str]:
    theirs, equals, ours = said.partition("=")
    if not equals:
        raise UserError("a severity is renamed as NAME=OURS", got=repr(said), expected="such as critical=Major")
    return theirs, ours


def _of_labels(found: MqmFiles, to: str) -> Written:
    if not found.rated:
        names = ", ".join(dict.fromkeys(h.name for h in found.scored.human_scores))
        raise UserError("the files hold no labels, only scores", got=names, hint="Add --score NAME and --to mtme-score")
    return write_labels(found.dataset, found.rated, to)


def _of_score(found: MqmFiles, to: str, score: str) -> Written:
    values = {OutputKey(*h[:3]): h.value for h in found.scored.human_scores if h.name == score}
    if not values:
        names = ", ".join(dict.fromkeys(h.name for h in found.scored.human_scores)) or "none"
        raise UserError("there is no such score in the files", got=repr(score), expected=names)
    if label_format(to).name != "mtme-score":
        raise UserError("a score is written as .seg.score only", got=to, expected="mtme-score")
    return Written((mtme_score.write(found.dataset, values),))


def _numbered(out: Path, n: int) -> Path:
    """`labels.seg.rating` → `labels.1.seg.rating`."""
    stem, dot, ending = out.name.partition(".")
    return out.with_name(f"{stem}.{n}{dot}{ending}")
