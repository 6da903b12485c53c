"""Files that pages prepare for a later download request. This process keeps them, on disk if they are large."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from io import SEEK_END
from threading import Lock
from time import monotonic

from core.formats.write import SPREADSHEET
from core.services.export.export import MIME, Export

PIECE = 1 << 18
"""Bytes that are read at once."""
KEPT = 4
"""Prepared files of a server; the oldest are removed."""
SECONDS_KEPT = 3600.0
"""Seconds after which a prepared file is removed."""
AT_ONCE = 2
"""Files that a server makes at a time; other exports wait."""
EXPORT_THREADS = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="errorscope-export")
"""The threads that make files, for pages and for requests."""


class PreparedFile:
    """A file that several requests can read at once. It is removed when nobody refers to it. A CSV begins with `SPREADSHEET`."""

    def __init__(self, made: Export) -> None:
        self.made = made
        self._head = SPREADSHEET if made.mime == MIME["csv"] else b""
        self.size = len(self._head) + made.file.seek(0, SEEK_END)
        self.since = monotonic()
        self._lock = Lock()

    def pieces(self) -> Iterator[bytes]:
        """Yield the file from its beginning."""
        yield from filter(None, [self._head])
        at = 0
        while piece := self._read(at):
            yield piece
            at += len(piece)

    def _read(self, at: int) -> bytes:
        with self._lock:
            self.made.file.seek(at)
            return self.made.file.read(PIECE)


class PreparedFiles:
    """The newest `KEPT` files, by a random token. Files older than `SECONDS_KEPT` are removed by the next call."""

    def __init__(self) -> None:
        self._files: OrderedDict[tuple[int, str, str], PreparedFile] = OrderedDict()
        self._lock = Lock()

    def keep(self, project_id: int, name: str, made: Export) -> str:
        """Keep the file `name` of a project, and return its token."""
        token = secrets.token_urlsafe(12)
        with self._lock:
            self._remove_old()
            self._files[project_id, name, token] = PreparedFile(made)
            while len(self._files) > KEPT:
                self._files.popitem(last=False)
        return token

    def find(self, project_id: int, name: str, token: str) -> PreparedFile | None:
        """Return a file that is still kept under this project, name and token."""
        with self._lock:
            self._remove_old()
            return self._files.get((project_id, name, token))

    def _remove_old(self) -> None:
        oldest = monotonic() - SECONDS_KEPT
        for key in [key for key, file in self._files.items() if file.since < oldest]:
            del self._files[key]


PREPARED = PreparedFiles()
"""The files that pages of this server have prepared."""
