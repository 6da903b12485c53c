"""Uploaded bytes: what is taken, what is refused, and in which words."""

from __future__ import annotations

import gzip
import io
import pickle
import tarfile
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import Problem
from core.formats.files import Upload, extension, raw_lines, stem, without_end
from core.formats.streams.opened import text_bytes
from core.services.projects.importing import read_files
from tests.core.formats.problems import problems_of


def test_a_gzip_bomb_is_refused_at_the_limit_and_text_of_exactly_the_limit_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ERRORSCOPE_MAX_TEXT_MB", "1")
    bomb = gzip.compress(b"0" * (1 << 22))
    assert len(bomb) < 5000
    assert refused(bomb).got == "more than 1 MB of text"
    most = b"0" * (1 << 20)
    assert text_bytes(Upload("a.txt", gzip.compress(most))) == most
    assert refused(most + b"0").expected == "at most 1 MB"


def refused(data: bytes, name: str = "data.csv") -> Problem:
    (problem,) = problems_of(text_bytes, Upload(name, data))
    return problem


def test_what_is_no_text_is_refused_with_its_place() -> None:
    surrogate = "\ufeffa,b\nxä\ud83dy,z\n".encode("utf-8", "surrogatepass")
    for data, place, got in (
        *((data, (0, ""), "an empty file") for data in (b"", b"\xef\xbb\xbf", gzip.compress(b"", mtime=0))),
        # "é" in Latin-1 is 0xE9; it stands after "a,b\n" (4 bytes) and "caf" (3 bytes): offset 7, line 2
        ("a,b\ncafé,x\n".encode("latin-1"), (2, "character 4"), "byte 0xE9 at offset 7, which is not UTF-8"),
        (b"abc\xe2\x82", (1, "character 4"), "byte 0xE2 at offset 3, which is not UTF-8"),
        ("a,b\nxä\0y,z\n".encode(), (2, "character 3"), "a NUL character"),
        (surrogate, (2, "character 3"), "byte 0xED at offset 10, which is half of a surrogate pair"),
        (gzip.compress(gzip.compress(b"a")), (0, ""), "a gzip file inside a gzip file"),
        *((gzip.compress(b"some text that was here")[:keep], (0, ""), "damaged gzip") for keep in (5, 12, 25)),
        (b"PK\x03\x04" + b"a" * 90, (0, ""), "a ZIP archive"),
        *(("ein Satz,a sentence\n".encode(codec), None, "UTF-16") for codec in ("utf-16", "utf-16-le", "utf-16-be")),
    ):
        problem = refused(data)
        assert problem.got.startswith(got)
        assert place in (None, (problem.row, problem.column))
    for size in ((1 << 20) - 1, 1 << 20, (1 << 20) + 1):
        # the first byte of a two-byte character stands last or first in a chunk, and its second byte is wrong
        problem = refused(b"a" * size + b"\xc3\x28" + b"a" * 10)
        assert problem.got == f"byte 0xC3 at offset {size:,}, which is not UTF-8"


class Bomb:
    """Unpickling this would raise."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (exec, ("raise SystemExit('unpickled')",))


def test_a_pickle_is_recognised_and_never_opened() -> None:
    for protocol in (2, 3, 4, 5):
        for pack in (bytes, gzip.compress):
            assert refused(pack(pickle.dumps(Bomb(), protocol=protocol))).got == "a Python pickle"


def test_an_archive_is_to_be_unpacked_and_a_table_to_be_saved_as_text() -> None:
    packed, workbook = io.BytesIO(), io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        tar.addfile(tarfile.TarInfo("a.txt"))
    with zipfile.ZipFile(workbook, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    sheet = b"PK\x03\x04mimetypeapplication/vnd.oasis.opendocument.spreadsheet"
    for data, got, todo in (
        (packed.getvalue(), "a tar archive", "Unpack it"), (b"PK\x03\x04" + b"a" * 90, "a ZIP archive", "Unpack it"),
        (b"\xfd7zXZ\x00", "an xz file", "Decompress it"), (sheet, "an OpenDocument spreadsheet", "CSV (UTF-8)"),
        (b"PK\x03\x04xl/workbook", "an Excel workbook", "CSV (UTF-8)"), (workbook.getvalue(), "an Excel workbook", "CSV (UTF-8)"),
    ):  # fmt: skip
        beside = read_files([Upload("b.csv", b"a,b\n1,2\n"), Upload("a.zip", data)]).plan.problems
        for problem in (refused(data), *beside):
            assert (problem.got, todo in problem.todo) == (got, True)
        assert len(beside) == 1


def test_gzip_is_unpacked_by_its_bytes_whatever_the_name() -> None:
    assert text_bytes(Upload("data.csv", gzip.compress(b"a\n") + gzip.compress(b"b\n"))) == b"a\nb\n"


def test_lines_end_at_line_feeds_only_and_names_are_labels_only() -> None:
    data = "\ufeffa\u2028b\x0bc\x85d\x0ce\rf\r\ng\n\n".encode()
    assert [without_end(line) for line in raw_lines(data)] == ["a\u2028b\x0bc\x85d\x0ce\rf", "g", ""]
    for name, label, end in (
        ("hyp.txt", "hyp", "txt"), ("C:\\data\\sys.A.tsv.gz", "sys.A", "tsv"), ("../../x", "x", ""), (".hidden", ".hidden", "hidden"),
    ):  # fmt: skip
        assert (stem(name), extension(name)) == (label, end)


@given(st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"])), min_size=1))
def test_lines_round_trip(lines: list[str]) -> None:
    data = "".join(line + "\n" for line in lines).encode()
    got = [line[:-1] for line in raw_lines(data)]
    assert got == [lines[0].removeprefix("\ufeff"), *lines[1:]]
