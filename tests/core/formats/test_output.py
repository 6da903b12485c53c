"""Files that commands write: never an input, whole or not at all."""

import errno
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from core.errors import UserError
from core.formats import output
from tests.paths import ROOT


def test_an_output_is_no_other_file_by_whatever_path(tmp_path: Path) -> None:
    file = tmp_path / "in.csv"
    file.write_text("kept")
    (tmp_path / "folder").mkdir()
    (tmp_path / "soft").symlink_to(file)
    (tmp_path / "twice").symlink_to(tmp_path / "soft")
    (tmp_path / "linked_folder").symlink_to(tmp_path, target_is_directory=True)
    os.link(file, tmp_path / "hard")
    names = ("in.csv", "soft", "twice", "hard", "folder/../in.csv", "linked_folder/in.csv")
    for path in (*(tmp_path / name for name in names), Path(os.path.relpath(file))):
        for inputs, outputs in (([("--human", file)], []), ([], [("--human", file)])):
            with pytest.raises(UserError, match=r"the same file is given twice \(got --human .*in.csv and --out"):
                output.check(inputs, [*outputs, ("--out", path)])
            output.check(inputs, [*outputs, ("--out", tmp_path / "new.csv")])


def test_new_outputs_are_compared_by_folder_and_name_and_devices_may_be_named_twice(tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "dangling").symlink_to(tmp_path / "new.json")
    names = [("new.json", other) for other in ("linked/new.json", "NEW.JSON", "dangling")]
    for one, two in (*names, ("é", "e\u0301")):
        with pytest.raises(UserError, match="given twice"):
            output.check([], [("--out", tmp_path / one), ("--json", tmp_path / two)])
    output.check([], [("--out", tmp_path / "new.json"), ("--json", tmp_path / "other.json")])
    null = Path(os.devnull)
    output.check([("an input", null)], [("--out", null), ("--json", null)])


def test_files_of_the_settings_are_never_written_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERRORSCOPE_HOME", str(tmp_path))
    monkeypatch.delenv("ERRORSCOPE_DB", raising=False)
    monkeypatch.setenv("ERRORSCOPE_PROMPTS", str(tmp_path / "prompts.json"))
    monkeypatch.setenv("ERRORSCOPE_NLI", str(tmp_path / "nli"))
    (tmp_path / "nli").mkdir()
    for name in ("errorscope.db", "errorscope.db-wal", "prompts.json", "ranges.json", "nli/model.safetensors"):
        (tmp_path / name).write_text("kept")
        with pytest.raises(UserError, match="given twice"):
            output.check([], [("--out", tmp_path / name)])
    output.check([], [("--out", tmp_path / "ranges.json")], writes_ranges=True)


def test_a_place_that_cannot_be_written_is_refused_first(tmp_path: Path) -> None:
    for name in ("missing/out.csv", ""):
        with pytest.raises(UserError, match="cannot be written"):
            output.check([], [("--out", tmp_path / name)])


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_file_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("kept")
    (tmp_path / "out").chmod(0o444)
    with pytest.raises(UserError, match="read-only"):
        output.check([], [("--out", tmp_path / "out")])


def test_new_files_get_usual_rights_and_old_ones_keep_theirs(tmp_path: Path) -> None:
    old, new, plain = tmp_path / "old", tmp_path / "new", tmp_path / "plain"
    old.write_text("before")
    old.chmod(0o640)
    plain.write_text("made as usual")
    output.write_files({old: "after\n", new: "ä\r\n"})
    assert (old.read_bytes(), new.read_bytes()) == (b"after\n", "ä\r\n".encode())
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    assert stat.S_IMODE(new.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["new", "old", "plain"]


def test_a_link_stays_and_its_target_is_written(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(Path("there") / "target")
    for text in ("first", "second"):
        output.write_files({tmp_path / "link": text})
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "there" / "target").read_text() == text


@pytest.mark.parametrize("nameless", [True, False])
def test_a_failure_leaves_every_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nameless: bool
) -> None:
    old = {"one": "first", "two": "second"}
    for name, text in old.items():
        (tmp_path / name).write_text(text)

    def full(*_: object, **__: object) -> None:
        raise OSError("no space left")

    for fails in ("os.fsync", "os.replace"):
        with monkeypatch.context() as patch:
            if not nameless:
                patch.delattr(os, "O_TMPFILE", raising=False)
            patch.setattr(fails, full)
            with pytest.raises(OSError, match="no space"):
                output.write_files(dict.fromkeys((tmp_path / name for name in old), "new"))
        assert {p.name: p.read_text() for p in tmp_path.iterdir()} == old
    with pytest.raises(UserError, match="half of a surrogate pair, U\\+D83D"):
        output.write_files({tmp_path / "one": "a \ud83d b"})
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == old


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    output.check([], [("--out", pipe)])
    output.write_files({pipe: "through"})
    reader.join(10)
    assert read == ["through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="no /dev/stdout here")
@pytest.mark.parametrize("to_file", [True, False])
def test_standard_output_stays_what_it_is(tmp_path: Path, to_file: bool) -> None:
    code = (
        "import sys; from pathlib import Path; from core.formats import output; print('before');"
        "output.check([], [('--out', Path('/dev/stdout'))]); output.write_files({Path('/dev/stdout'): 'text\\n'}); print('after')"
    )
    with (tmp_path / "all").open("w+") as handle:
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, stdout=handle if to_file else subprocess.PIPE, text=True, check=True
        )
        handle.seek(0)
        assert (handle.read() if to_file else done.stdout) == "before\ntext\nafter\n"


def no_rename(code: int, copies: list[str]) -> object:
    """A rename that a system refuses, and that remembers what the new file would have held."""

    def refused(part: Path, target: Path) -> None:
        copies.append(Path(part).read_text())
        raise OSError(code, os.strerror(code), str(part), None, str(target))

    return refused


def test_a_file_that_cannot_be_renamed_to_is_written_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "o.csv"
    for code in (errno.EBUSY, errno.EXDEV, errno.EACCES, errno.EPERM, errno.EROFS):
        for old in ("short", "longer than what is new", ""):
            copies = list[str]()
            out.write_text(old)
            out.chmod(0o640)
            inode = out.stat().st_ino
            with monkeypatch.context() as patch:
                patch.setattr(os, "replace", no_rename(code, copies))
                output.write_files({out: "a,b\n1,ä\n"})
            assert out.read_text() == "a,b\n1,ä\n" == copies[0]
            assert (out.stat().st_ino, stat.S_IMODE(out.stat().st_mode)) == (inode, 0o640)
            assert list(tmp_path.iterdir()) == [out]


def test_an_error_names_the_file_and_not_its_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "o.csv"
    for code in (errno.EACCES, errno.EIO):  # the file is not there yet, so that nothing can be written in place
        monkeypatch.setattr(os, "replace", no_rename(code, []))
        with pytest.raises(OSError, match=r"o\.csv") as caught:
            output.write_files({out: "new"})
        assert (caught.value.errno, caught.value.filename, caught.value.filename2) == (code, str(out), None)
        assert "errorscope" not in str(caught.value)
        assert not list(tmp_path.iterdir())


def test_a_full_disk_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "o.csv"
    out.write_text("what was there")
    left, whole = [4], os.write

    def little(handle: int, data: bytes) -> int:
        if left[0] == 0:
            left[0] = 100  # room for what was there before
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        done = whole(handle, data[: left[0]])
        left[0] -= done
        return done

    monkeypatch.setattr(os, "replace", no_rename(errno.EBUSY, []))
    monkeypatch.setattr(os, "write", little)
    with pytest.raises(OSError, match=r"o\.csv"):
        output.write_files({out: "something that is new and longer"})
    monkeypatch.undo()
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"o.csv": "what was there"}


def test_every_name_of_a_file_shows_what_was_written(tmp_path: Path) -> None:
    out, other = tmp_path / "o.csv", tmp_path / "kept" / "same.csv"
    out.write_text("old and long")
    other.parent.mkdir()
    os.link(out, other)
    output.write_files({out: "new"})
    assert (out.read_text(), other.read_text()) == ("new", "new")
    assert out.stat().st_ino == other.stat().st_ino
    assert sorted(p.name for p in tmp_path.iterdir()) == ["kept", "o.csv"]


def test_a_writable_file_in_a_read_only_folder_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "o.csv").write_text("old")
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path and access(path, mode))
    output.check([], [("--out", tmp_path / "o.csv")])
    with pytest.raises(UserError, match="its folder is read-only"):
        output.check([], [("--out", tmp_path / "new.csv")])


@contextmanager
def as_nobody() -> Iterator[None]:
    os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


@pytest.mark.skipif(not hasattr(os, "setresuid") or os.geteuid() != 0, reason="only root can act as somebody else")
def test_a_file_in_a_read_only_folder_is_written_in_place() -> None:
    folder = Path(tempfile.mkdtemp())  # everybody may enter it, which is not so of tmp_path
    try:
        folder.chmod(0o755)
        out = folder / "o.csv"
        out.write_text("old and long")
        out.chmod(0o666)
        with as_nobody():
            output.check([], [("--out", out)])
            output.write_files({out: "new"})
            with pytest.raises(UserError, match="its folder is read-only"):
                output.check([], [("--out", folder / "new.csv")])
            with pytest.raises(PermissionError) as caught:
                output.write_files({folder / "new.csv": "new"})
        assert caught.value.filename == str(folder / "new.csv")
        assert {p.name: p.read_text() for p in folder.iterdir()} == {"o.csv": "new"}
        assert out.stat().st_uid == 0
    finally:
        shutil.rmtree(folder)
