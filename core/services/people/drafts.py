"""Drafts of forms on disk: the files that were uploaded, and one JSON file per draft. What nobody uses for a day is deleted."""

from __future__ import annotations

import json
import math
import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from core.errors import UserError
from core.formats.files import Upload

HOURS = 24
"""How long a draft and its files are kept after their last use."""
TOUCH_SECONDS = 600.0
"""How often a draft that is open is recorded as used."""
_FILE, _DRAFT = ".file", ".json"


class _DiskFile(NamedTuple):
    """What a draft holds of an uploaded file."""

    name: str
    id: str


@dataclass
class StoredDraft:
    """The values of a draft by key, in memory; those that JSON can hold are also on disk. `session` is the one that uses the draft."""

    name: str
    folder: DraftFolder
    session: str = ""
    _values: dict[str, Any] = field(default_factory=dict)
    _plain: dict[str, Any] = field(default_factory=dict)
    _changed: bool = False
    _used: float = -math.inf

    def keys(self) -> list[str]:
        return list(self._values)

    def put(self, key: str, value: Any) -> None:
        """Keep a value; its uploaded files are kept by their ids."""
        self._values[key] = value = _mapped(
            value, lambda file: _DiskFile(file.name, file.id) if file.id else file, Upload
        )
        try:
            plain = _to_plain(value)
        except TypeError:  # it ends with the server
            self._changed |= self._plain.pop(key, None) is not None
            return
        if key not in self._plain or self._plain[key] != plain:
            self._plain[key], self._changed = plain, True

    def has(self, key: str) -> bool:
        """Return whether a value is kept. It is forgotten if one of its files was deleted."""
        if any(not self.folder.has(file.id) for file in _files(self._values.get(key))):
            self.pop(key)
        return key in self._values

    def get(self, key: str) -> Any:
        """Return a value with its uploaded files."""
        return _mapped(self._values[key], lambda file: self.folder.file(file.name, file.id), _DiskFile)

    def pop(self, key: str) -> None:
        """Forget a value. Its files stay."""
        self._values.pop(key, None)
        self._changed |= self._plain.pop(key, None) is not None

    def remove_files(self, key: str) -> None:
        """Delete the files of a value, also for copies of this draft."""
        self.folder.remove(file.id for file in _files(self._values.get(key)))

    def copy(self, name: str) -> StoredDraft:
        """Return a new draft with the same values, which shares the files."""
        return StoredDraft(name, self.folder, "", dict(self._values), dict(self._plain), _changed=True)

    def save(self) -> None:
        """Write what has changed, and record from time to time that the draft is used."""
        now = time.monotonic()
        if self._changed and self._plain:
            self.folder.save(self.name, json.dumps(self._plain))
        elif self._changed:
            self.folder.remove_draft(self.name)
        self._changed = False
        if self._plain and now - self._used > TOUCH_SECONDS:
            self.folder.use((file.id for value in self._values.values() for file in _files(value)), self.name)
            self._used = now


def _mapped(value: Any, change: Callable[[Any], Any], kind: type) -> Any:
    """Return a value with everything of a kind in its lists and tuples changed."""
    if isinstance(value, kind):
        return change(value)
    if not isinstance(value, list | tuple) or isinstance(value, Upload):
        return value
    parts = [_mapped(each, change, kind) for each in value]
    if all(new is old for new, old in zip(parts, value, strict=True)):
        return value
    if isinstance(value, list):
        return parts
    return value._make(parts) if hasattr(value, "_make") else tuple(parts)


def _files(value: object) -> Iterator[_DiskFile]:
    if isinstance(value, _DiskFile):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _files(each)


def _to_plain(value: Any) -> Any:
    """Return a value as JSON can hold it. Raises `TypeError` if it would not be the same value when it is read."""
    if isinstance(value, _DiskFile):
        return {"file": [value.name, value.id]}
    if value is None or type(value) in (str, int, float, bool):
        return value
    if type(value) is list:
        return [_to_plain(each) for each in value]
    if type(value) is tuple:
        return {"tuple": [_to_plain(each) for each in value]}
    if type(value) is dict and all(type(key) is str for key in value):
        return {"dict": {key: _to_plain(each) for key, each in value.items()}}
    raise TypeError


def _from_plain(plain: Any) -> Any:
    if isinstance(plain, list):
        return [_from_plain(each) for each in plain]
    if not isinstance(plain, dict):
        return plain
    ((kind, held),) = plain.items()
    if kind == "file":
        return _DiskFile(*held)
    if kind == "tuple":
        return tuple(map(_from_plain, held))
    return {key: _from_plain(each) for key, each in held.items()}


class DraftFolder:
    """A folder that only this program writes and its owner can read. Files have ids that cannot be guessed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, files: Sequence[bytes], most: int) -> list[str]:
        """Write files and return their ids. Other files that were not used for longest are deleted if all hold more than `most` bytes.

        Raises `UserError` if the disk refuses them.
        """
        ids = [secrets.token_urlsafe(16) for _ in files]
        try:
            for name, data in zip(ids, files, strict=True):
                self._write(name + _FILE, data)
        except OSError as error:
            self.remove(ids)
            raise UserError(
                "the server cannot keep the files", where=str(self._folder), got=error.strerror or "an error",
                hint="Ask who runs the server to free space there, then upload the files again",
            ) from error  # fmt: skip
        self._remove_oldest(most, {name + _FILE for name in ids})
        return ids

    def has(self, file_id: str) -> bool:
        return (self._folder / (file_id + _FILE)).is_file()

    def file(self, name: str, file_id: str) -> Upload:
        """Return a file, which is used now."""
        self.use([file_id])
        return Upload(name, self._folder / (file_id + _FILE), file_id)

    def remove(self, file_ids: Iterable[str]) -> None:
        for name in file_ids:
            self._unlink(name + _FILE)

    def save(self, draft: str, text: str) -> None:
        """Replace the content of a draft. A disk that refuses it is no error: the draft ends with the server then."""
        with suppress(OSError):
            self._write(draft + ".new", text.encode())
            os.replace(self._folder / (draft + ".new"), self._folder / (draft + _DRAFT))

    def load(self, name: str) -> StoredDraft | None:
        """Return a draft as it was saved; None if there is none."""
        try:
            plain = json.loads((self._folder / (name + _DRAFT)).read_bytes())
        except (OSError, ValueError):
            return None
        return StoredDraft(name, self, "", {key: _from_plain(value) for key, value in plain.items()}, plain)

    def remove_draft(self, draft: str) -> None:
        self._unlink(draft + _DRAFT)

    def use(self, file_ids: Iterable[str], draft: str = "") -> None:
        """Record that files and a draft are used now."""
        now = time.time_ns()
        for name in (*(file_id + _FILE for file_id in file_ids), *([draft + _DRAFT] if draft else ())):
            with suppress(OSError):
                os.utime(self._folder / name, ns=(now, now))

    def remove_old(self, hours: float = HOURS) -> None:
        """Delete what was last used more than so many hours ago."""
        before = time.time_ns() - int(hours * 3600e9)
        for used, _, name in self._entries():
            if used < before:
                self._unlink(name)

    def _remove_oldest(self, most: int, spared: set[str]) -> None:
        files = sorted(entry for entry in self._entries() if entry[2].endswith(_FILE))
        held = sum(size for _, size, _ in files)
        for _, size, name in files:
            if held > most and name not in spared:
                self._unlink(name)
                held -= size

    def _entries(self) -> list[tuple[int, int, str]]:
        """Return the time of the last use, the size and the name of all files."""
        drafts = []
        with suppress(OSError), os.scandir(self._folder) as entries:
            for entry in entries:
                with suppress(OSError):
                    facts = entry.stat()
                    drafts.append((facts.st_mtime_ns, facts.st_size, entry.name))
        return drafts

    def _write(self, name: str, data: bytes) -> None:
        for folder in (self._folder.parent, self._folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(os.open(self._folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(data)
        os.utime(self._folder / name, ns=(time.time_ns(),) * 2)  # by itself, the file system counts in steps of some ms

    def _unlink(self, name: str) -> None:
        with suppress(OSError):
            (self._folder / name).unlink()
