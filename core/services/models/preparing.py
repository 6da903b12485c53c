"""Make a fetched model ready for use: convert its weights if they are a pickle, compare the scores of two outputs, and store the choice."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from core.data import Item
from core.errors import UserError
from core.metrics import registry
from core.models import prepared
from core.models.architectures.shapes import HPARAMS, comet_shape
from core.models.checkpoint import resolve, weights_digest
from core.models.configs import MODEL_KINDS, trying
from core.models.folders import ModelFolder, original_of
from core.models.prepared import PairScores, PreparedModel
from core.processes import host
from core.progress import Cancelled, Progress, no_progress

CONVERTED = 0.8
"""Share of the work that the conversion is; the rest is the test."""


class Published(NamedTuple):
    """Published scores of the good and, if known, of the bad output."""

    good: float
    bad: float | None
    where: str


class Pair(NamedTuple):
    """A good and a bad output, and their published scores by the name of the checkpoint."""

    good: Item
    bad: Item
    published: Mapping[str, Published]


def _pair(source: str | None, references: tuple[str, ...], good: str, bad: str, **published: Published) -> Pair:
    named = {name.replace("_", "-"): scores for name, scores in published.items()}
    return Pair(Item(source, good, references), Item(source, bad, references), named)


_COMET = _pair(
    "10 到 15 分钟可以送到吗",
    ("Can it be delivered between 10 to 15 minutes?",),
    "Can I receive my food in 10 to 15 minutes?",
    "The girl went for a walk.",
    wmt22_comet_da=Published(0.8417, None, "github.com/Unbabel/COMET/issues/190"),
)
_BLEURT = _pair(
    None, ("hello world",), "hi universe", "bye world",
    bleurt_large_512=Published(0.9877, 0.0475, "the model card of Elron/bleurt-large-512"),
)  # fmt: skip
_DOCUMENT = (
    "The museum in Leeds is closed on Monday. It opens again on Tuesday at nine, and entry is free for children."
)
_SUMMARY = _pair(
    _DOCUMENT,
    ("The Leeds museum is closed on Monday and opens on Tuesday at nine.",),
    "The museum is closed on Monday and opens again on Tuesday.",
    "Paris beaches tomorrow eleven sold the the of airplanes.",
)
PAIRS = {"comet": _COMET, "bleurt": _BLEURT, "unieval": _SUMMARY, "lm": _SUMMARY, "mlm": _SUMMARY}
METRICS = {"bleurt": "bleurt", "unieval": "unieval", "lm": "gpt-ppl", "mlm": "mlm-ppl"}


def converted_into(folder: ModelFolder) -> Path:
    """Return where the converted weights are written: the folder itself, or one in the folder of models if it cannot be written."""
    own = prepared.models_folder() / folder.path.name
    return folder.path if _can_write(folder.path) else own


def prepare(folder: ModelFolder, progress: Progress = no_progress) -> PreparedModel:
    """Convert and test a model, store it as the one of its kind, and return what is stored.

    Raises UserError if a file is missing or unsuitable, or if the bad output scores at least as high as the good one.
    """
    model = _tested(folder, progress)
    prepared.keep(folder.kind, model)
    return model


def convert_only(folder: ModelFolder, progress: Progress = no_progress) -> Path:
    """Convert the weights of a folder if they are a pickle, and return the folder with the converted ones."""
    return _converted(folder, progress)[0]


def _tested(folder: ModelFolder, progress: Progress) -> PreparedModel:
    target, original = _converted(folder, lambda share: progress(CONVERTED * share))
    tested = host.run(
        score_pair, folder.kind, target, progress=lambda share: progress(CONVERTED + (1 - CONVERTED) * share)
    )
    if not is_as_expected(tested):
        raise UserError(
            "this model scores a bad output at least as high as a good one, so it is not used", where=str(target),
            got=f"“{tested.bad_text}” {tested.bad:.4f}, “{tested.good_text}” {tested.good:.4f}",
            expected="the better score for the good output",
            hint="Check that the folder has the files of one published model, and fetch them again",
        )  # fmt: skip
    return PreparedModel(
        folder=str(target.resolve()), revision=resolve(str(target)).revision, weights=weights_digest(target),
        original=original, hub=original_of(folder)[0], tested=tested, at=datetime.now(UTC),
    )  # fmt: skip


def _converted(folder: ModelFolder, progress: Progress) -> tuple[Path, str]:
    """Return the folder with safetensors, and the SHA-256 of the pickle that they were read from, or ""."""
    if not folder.usable:
        raise folder.error()
    if folder.pickled is None:
        if folder.kind == "comet" and not (folder.path / HPARAMS).is_file():
            from core.models import conversion

            conversion.write_hparams(folder.path, folder.path)
        return folder.path, ""
    target = converted_into(folder)
    return target, host.run(_convert, folder, target, progress=progress)


def is_as_expected(tested: PairScores) -> bool:
    """Return whether the good output has the better score."""
    better = registry.load_metric(tested.metric).spec.higher_is_better
    return tested.good > tested.bad if better else tested.good < tested.bad


def score_pair(kind: str, folder: Path, progress: Progress = no_progress) -> PairScores:
    """Return the scores of a good and a bad output by the model in a folder. Raises UserError if it cannot score."""
    pair = PAIRS[kind]
    with trying(kind, folder):
        metric = registry.load_metric(_metric(kind, folder))
        try:
            values = metric.score([pair.good, pair.bad], progress)
        except (UserError, Cancelled):
            raise
        except Exception as error:  # torch and transformers raise many kinds where files do not belong together
            raise UserError(
                "this model cannot compute a score", where=str(folder),
                got=f"{type(error).__name__}: {' '.join(str(error).split())[:200]}",
                expected="weights, configuration and tokenizer of one model", hint="Fetch all of its files again",
            ) from error  # fmt: skip
    good, bad = (value.value for value in values)
    if good is None or bad is None:
        raise UserError("this model gave no score", where=str(folder), got=values[0].reason or values[1].reason)
    published = pair.published.get(folder.name)
    return PairScores(
        metric=metric.spec.name, good_text=pair.good.hypothesis, bad_text=pair.bad.hypothesis, good=good, bad=bad,
        published_good=published.good if published else None, published_bad=published.bad if published else None,
        published_in=published.where if published else "",
    )  # fmt: skip


def _metric(kind: str, folder: Path) -> str:
    """Return the metric that reads all that the model needs."""
    if kind != "comet":
        return METRICS[kind]
    return "comet" if comet_shape(resolve(str(folder))).references else "comet-qe"


def _convert(folder: ModelFolder, target: Path, progress: Progress) -> str:
    from core.models import conversion

    return conversion.convert(folder, target, progress)


def _can_write(folder: Path) -> bool:
    return os.access(folder, os.W_OK)


def report(kind: str, model: PreparedModel) -> str:
    """Return what was tested and stored, one fact per line."""
    return "\n".join(
        [
            f"{model.folder} is used as {MODEL_KINDS[kind].words}, where {MODEL_KINDS[kind].variable} is not set.",
            *scores_in_words(model.tested),
            *facts_in_words(model),
        ]
    )


def scores_in_words(tested: PairScores) -> list[str]:
    """Return the scores of the good and of the bad output, with the published ones, and what to think of a difference."""

    def line(what: str, text: str, score: float, published: float | None) -> str:
        beside = "" if published is None else f", published {published:.4f}"
        return f"{what} output “{text}”: {score:.4f}{beside}"

    lines = [
        line("good", tested.good_text, tested.good, tested.published_good),
        line("bad", tested.bad_text, tested.bad, tested.published_bad),
    ]
    if tested.differs:
        lines.append(
            f"The scores are not those published in {tested.published_in}: this is another checkpoint than the one of its name, "
            "or its configuration or tokenizer is not its own."
        )
    return lines


def facts_in_words(model: PreparedModel) -> list[str]:
    """Return what identifies the model."""
    facts = [f"revision {model.revision}, SHA-256 of the weights {model.weights}"]
    facts += [f"converted from a file with SHA-256 {model.original}"] if model.original else []
    return [*facts, *([f"commit {model.hub} on the model hub"] if model.hub else [])]
