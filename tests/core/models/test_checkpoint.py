"""Resolving checkpoints: revisions cover all files that affect scores, without loading a model."""

import hashlib
import json
from pathlib import Path

import pytest

from core.errors import UserError
from core.models import checkpoint
from core.models.checkpoint import MINILM_SHA256, resolve


def folder(path: Path, config: dict[str, object], weights: bytes = b"w", pooling: str = "") -> Path:
    path.mkdir()
    (path / "model.safetensors").write_bytes(weights)
    (path / "config.json").write_text(json.dumps(config))
    if pooling:
        (path / "1_Pooling").mkdir()
        (path / "1_Pooling" / "config.json").write_text(pooling)
    return path


def test_the_revision_covers_weights_configuration_and_pooling(tmp_path: Path) -> None:
    labels = {"id2label": {"0": "entailment", "1": "neutral", "2": "contradiction"}}
    turned = {"id2label": {"0": "contradiction", "1": "neutral", "2": "entailment"}}
    one = resolve(str(folder(tmp_path / "a", labels))).revision
    (tmp_path / "a" / "README.md").write_text("about it")
    assert resolve(str(tmp_path / "a")).revision == one
    others = [
        folder(tmp_path / "b", turned),
        folder(tmp_path / "c", labels, weights=b"v"),
        folder(tmp_path / "d", labels, pooling="{}"),
    ]
    assert len({one, *(resolve(str(other)).revision for other in others)}) == 4


def test_a_file_that_changes_on_disk_is_another_revision(tmp_path: Path) -> None:
    path = folder(tmp_path / "a", {"num_labels": 3})
    before = resolve(str(path)).revision
    (path / "config.json").write_text('{"num_labels": 2}')
    assert resolve(str(path)).revision != before


def test_altered_minilm_weights_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (resolve("minilm").path / "model.safetensors").open("rb") as weights:
        assert hashlib.file_digest(weights, "sha256").hexdigest() == MINILM_SHA256
    folder(tmp_path / "model", {})
    (tmp_path / "__init__.py").touch()

    class Spec:
        origin = str(tmp_path / "__init__.py")

    monkeypatch.setattr(checkpoint, "find_spec", lambda name: Spec)
    with pytest.raises(UserError, match="not the weights of all-MiniLM-L6-v2"):
        resolve("minilm")
