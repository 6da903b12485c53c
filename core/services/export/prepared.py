"""Files that were made for a download, which is a request of its own. They belong to this process and are on disk if they are large."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Iterator
from io import SEEK_END
from threading import Lock

from core.services.export.export import Export

PIECE = 1 << 18
"""Bytes that are read at once."""
KEPT = 4
"""Prepared files of a server; the oldest are removed."""


class PreparedFile:
    """A file that several requests can read at once. It is removed when nobody refers to it."""

    def __init__(self, made: Export) -> None:
        self.made = made
        self.size = made.file.seek(0, SEEK_END)
        self._lock = Lock()

    def pieces(self) -> Iterator[bytes]:
        """Yield the file from its beginning."""
        at = 0
        while piece := self._read(at):
            yield piece
            at += len(piece)

    def _read(self, at: int) -> bytes:
        with self._lock:
            self.made.file.seek(at)
            return self.made.file.read(PIECE)


class PreparedFiles:
    """The newest `KEPT` files, by a random token."""

    def __init__(self) -> None:
        self._files: OrderedDict[tuple[int, str, str], PreparedFile] = OrderedDict()
        self._lock = Lock()

    def keep(self, project_id: int, name: str, made: Export) -> str:
        """Keep the file `name` of a project, and return its token."""
        token = secrets.token_urlsafe(12)
        with self._lock:
            self._files[project_id, name, token] = PreparedFile(made)
            while len(self._files) > KEPT:
                self._files.popitem(last=False)
        return token

    def find(self, project_id: int, name: str, token: str) -> PreparedFile | None:
        """Return a file that is still kept under this project, name and token."""
        with self._lock:
            return self._files.get((project_id, name, token))


PREPARED = PreparedFiles()
"""The files that pages of this server have prepared."""
