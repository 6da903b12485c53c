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

from core.errors import ImportProblems, Problem
from core.formats.files import Upload, extension, raw_lines, stem, without_end
from core.formats.streams.opened import text_bytes
from core.services.projects.importing import read_files


@pytest.fixture
def one_megabyte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERRORSCOPE_MAX_TEXT_MB", "1")


def refused(data: bytes, name: str = "data.csv") -> Problem:
    with pytest.raises(ImportProblems) as caught:
        text_bytes(Upload(name, data))
    assert len(caught.value.problems) == 1
    return caught.value.problems[0]


@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbf", gzip.compress(b"", mtime=0)])
def test_an_empty_file_is_refused(data: bytes) -> None:
    assert refused(data).got == "an empty file"


def test_a_byte_that_is_not_utf8_is_named_with_offset_and_line() -> None:
    # "é" in Latin-1 is 0xE9; it stands after "a,b\n" (4 bytes) and "caf" (3 bytes): offset 7, line 2
    problem = refused("a,b\ncafé,x\n".encode("latin-1"))
    assert (problem.row, problem.got) == (2, "byte 0xE9 at offset 7, which is not UTF-8")


@pytest.mark.parametrize("size", [(1 << 20) - 1, 1 << 20, (1 << 20) + 1])
def test_a_bad_byte_is_found_where_chunks_meet(size: int) -> None:
    # the first byte of a two-byte character stands last or first in a chunk, and its second byte is wrong
    problem = refused(b"a" * size + b"\xc3\x28" + b"a" * 10)
    assert problem.got == f"byte 0xC3 at offset {size:,}, which is not UTF-8"


def test_a_character_cut_off_at_the_end_is_refused() -> None:
    assert "offset 3" in refused(b"abc\xe2\x82").got


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16_is_named(codec: str) -> None:
    assert refused("source,output\nein Satz,a sentence\n".encode(codec)).got.startswith("UTF-16")


class Bomb:
    """Unpickling this would raise."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (exec, ("raise SystemExit('unpickled')",))


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_pickle_is_recognised_and_never_opened(protocol: int) -> None:
    assert refused(pickle.dumps(Bomb(), protocol=protocol)).got == "a Python pickle"


def test_a_gzipped_pickle_is_recognised_too() -> None:
    assert refused(gzip.compress(pickle.dumps(Bomb()))).got == "a Python pickle"


def test_a_workbook_renamed_to_csv_is_recognised() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    problem = refused(packed.getvalue())
    assert problem.got == "an Excel workbook"
    assert "CSV" in problem.todo


def test_a_nul_is_named_with_its_line_and_place() -> None:
    problem = refused("a,b\nxä\0y,z\n".encode())
    assert (problem.row, problem.column, problem.got) == (2, "character 3", "a NUL character")


def test_half_a_character_is_named_with_its_line_and_place() -> None:
    problem = refused("\ufeffa,b\nxä\ud83dy,z\n".encode("utf-8", "surrogatepass"))
    assert (problem.row, problem.column) == (2, "character 3")
    assert "half of a surrogate pair" in problem.got


def test_gzip_is_unpacked_by_its_bytes_whatever_the_name() -> None:
    assert text_bytes(Upload("data.csv", gzip.compress(b"a\n") + gzip.compress(b"b\n"))) == b"a\nb\n"


@pytest.mark.usefixtures("one_megabyte")
def test_a_gzip_bomb_is_refused_at_the_limit() -> None:
    bomb = gzip.compress(b"0" * (1 << 22))
    assert len(bomb) < 5000
    assert refused(bomb).got == "more than 1 MB of text"


@pytest.mark.usefixtures("one_megabyte")
def test_text_of_exactly_the_limit_is_taken() -> None:
    most = b"0" * (1 << 20)
    assert text_bytes(Upload("a.txt", gzip.compress(most))) == most
    assert refused(most + b"0").expected == "at most 1 MB"


@pytest.mark.parametrize("keep", [5, 12, 25])
def test_cut_off_gzip_is_damaged_not_a_traceback(keep: int) -> None:
    assert "damaged gzip" in refused(gzip.compress(b"some text that was here")[:keep]).got


def test_gzip_inside_gzip_is_refused() -> None:
    assert refused(gzip.compress(gzip.compress(b"a"))).got == "a gzip file inside a gzip file"


def test_lines_end_at_line_feeds_only_and_the_bom_is_dropped() -> None:
    data = "\ufeffa\u2028b\x0bc\x85d\x0ce\rf\r\ng\n\n".encode()
    assert [without_end(line) for line in raw_lines(data)] == ["a\u2028b\x0bc\x85d\x0ce\rf", "g", ""]


@given(st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"])), min_size=1))
def test_lines_round_trip(lines: list[str]) -> None:
    data = "".join(line + "\n" for line in lines).encode()
    got = [line[:-1] for line in raw_lines(data)]
    assert got == [lines[0].removeprefix("\ufeff"), *lines[1:]]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("hyp.txt", ("hyp", "txt")),
        ("C:\\data\\sys.A.tsv.gz", ("sys.A", "tsv")),
        ("../../x", ("x", "")),
        (".hidden", (".hidden", "hidden")),
    ],
)
def test_names_are_labels_only(name: str, expected: tuple[str, str]) -> None:
    assert (stem(name), extension(name)) == expected


def test_an_archive_is_to_be_unpacked_and_a_table_to_be_saved_as_text() -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("a.txt"))
    for data, found, todo in (
        (packed.getvalue(), "a tar archive", "Unpack it"), (b"PK\x03\x04" + b"a" * 90, "a ZIP archive", "Unpack it"),
        (b"\xfd7zXZ\x00", "an xz file", "Decompress it"), (b"PK\x03\x04mimetypeapplication/vnd.oasis.opendocument.spreadsheet", "an OpenDocument spreadsheet", "CSV (UTF-8)"), (b"PK\x03\x04xl/workbook", "an Excel workbook", "CSV (UTF-8)"),
    ):  # fmt: skip
        with pytest.raises(ImportProblems) as caught:
            text_bytes(Upload("a.txt", data))
        (problem,) = caught.value.problems
        assert problem.got == found
        assert todo in problem.todo
        beside = read_files([Upload("b.csv", b"a,b\n1,2\n"), Upload("a.zip", data)]).plan.problems
        assert [(p.got, todo in p.todo) for p in beside] == [(found, True)]
