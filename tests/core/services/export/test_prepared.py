"""Files that a page has prepared, as several requests read them."""

from __future__ import annotations

import io

from core.formats.write import SPREADSHEET
from core.services.export.export import Export
from core.services.export.files import KEPT, PIECE, PreparedFile, PreparedFiles

CONTENT = bytes(range(256)) * (3 * PIECE // 256) + b"end"


def export(content: bytes = CONTENT) -> Export:
    return Export(io.BytesIO(content), "csv", "text/csv", ())


def test_two_requests_read_one_file_at_the_same_time() -> None:
    file = PreparedFile(export())
    first, second = file.pieces(), file.pieces()
    begun = next(first)
    assert b"".join(second) == SPREADSHEET + CONTENT
    assert begun + b"".join(first) == SPREADSHEET + CONTENT
    assert file.size == len(SPREADSHEET) + len(CONTENT)


def test_a_file_is_found_by_project_name_and_token_until_newer_ones_replace_it() -> None:
    files = PreparedFiles()
    token = files.keep(1, "labels", export())
    assert files.find(1, "labels", token) is not None
    for other in ((2, "labels", token), (1, "scores", token), (1, "labels", "guessed")):
        assert files.find(*other) is None
    for _ in range(KEPT):
        files.keep(1, "labels", export(b""))
    assert files.find(1, "labels", token) is None
