"""Drafts on disk: what they hold, for how long, and who may read them."""

import os
import time
from datetime import date
from pathlib import Path

import pytest

from core.errors import UserError
from core.services.people.drafts import HOURS, DraftFolder, StoredDraft


def test_drafts_are_found_again_until_they_are_too_old(tmp_path: Path) -> None:
    folder, home = DraftFolder(tmp_path / "home" / "drafts"), tmp_path / "home" / "drafts"
    ids = folder.keep([b"one", b"two"], 100)
    files = [folder.file(name, i) for name, i in zip("ab", ids, strict=True)]
    values = {"files": files, "pair": ("x", 1), "none": None, "table": [{"a": 1.5, "tuple": True}], "text": "\ud800 é"}
    draft = StoredDraft("d", folder)
    for key, value in {**values, "day": date(2026, 1, 2)}.items():  # JSON has no dates
        draft.put(key, value)
    draft.save()
    found = folder.load("d")
    assert found is not None
    assert {key: found.get(key) for key in found.keys()} == values
    assert [file.id for file in found.get("files")] == ids
    assert draft.get("day") == date(2026, 1, 2)
    if os.name != "nt":
        assert {path.stat().st_mode & 0o777 for path in home.iterdir()} == {0o600}
        assert home.stat().st_mode & 0o777 == 0o700

    (third,) = folder.keep([b"three"], 8)  # the oldest goes, what is new stays
    assert [folder.has(i) for i in (*ids, third)] == [False, True, True]
    assert not found.has("files")
    assert "files" not in found.keys()
    (large,) = folder.keep([b"larger than all"], 8)
    assert [folder.has(i) for i in (*ids, third, large)] == [False, False, False, True]

    old = time.time() - HOURS * 3600 - 1
    os.utime(home / f"{large}.file", (old, old))
    os.utime(home / "d.json", (old, old))
    found.save()  # the draft is open
    folder.remove_old()
    assert folder.load("d") is not None
    assert not folder.has(large)
    copied = draft.copy("e")
    copied.save()
    for key in values:
        copied.pop(key)
    copied.save()
    assert {path.name for path in home.iterdir()} == {"d.json"}
    (home / "d.json").write_text("{")
    assert folder.load("d") is None
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot keep the files"):
        DraftFolder(tmp_path / "file").keep([b"one"], 100)
