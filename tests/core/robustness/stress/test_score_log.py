"""Scores that outlive the process: what comes back, what a cut-off line does, and two runs at once."""

import json
from pathlib import Path

import pytest

from core.data import Value
from core.errors import UserError
from core.robustness.stress.run import StressTestRequest, run_stress_tests
from core.robustness.stress.score_log import opened
from tests.builders import counting_metric
from tests.core.robustness.stress.fake_noise import CUT, of_words

VALUES = {
    "a": Value(0.1 + 0.2, parts={"precision": 1 / 3}),
    "b": Value(None, "undefined", "so – “😀”\u2028"),
    "c": Value(None, "needs", "a reference"),
}


def written(path: Path) -> bytes:
    with opened(path) as log:
        log.put("m", "m|v:1", VALUES, 0.5)
        log.put("m", "m|v:1", {"d": Value(4.0, detail={"trace": 1}), "e": Value(None, "error", "broke")}, 0.5)
    return path.read_bytes()


def test_values_come_back_exactly_but_errors_are_tried_again(tmp_path: Path) -> None:
    written(tmp_path / "log")
    with opened(tmp_path / "log") as log:
        assert log.known("m|v:1", ["a", "b", "c", "d", "e", "f"]) == {"a", "b", "c", "d"}
        assert log.values("m|v:1", ["a", "b", "c", "d"]) == {**VALUES, "d": Value(4.0)}
        assert log.known("m|v:2", ["a"]) == set()


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_an_incomplete_last_line_is_overwritten(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "log"
    whole = written(path)
    path.write_bytes(whole[:-cut])
    with opened(path) as log:
        assert log.known("m|v:1", ["a", "d"]) == {"a"}
        log.put("m", "m|v:1", {"d": Value(4.0)}, 0.5)
    with opened(path) as log:
        assert log.known("m|v:1", ["a", "d"]) == {"a", "d"}
    assert all(json.loads(line) for line in path.read_bytes().splitlines())


def test_a_log_that_was_cut_off_in_its_first_line_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(written(path)[:20])
    with opened(path) as log:
        assert not log.by_signature
    assert path.read_bytes().count(b"\n") == 1


@pytest.mark.parametrize("text", ["hello\n", "hello", '{"format": "other", "version": 1}\n', '{"a": 1}\n', "[]\n\n"])
def test_a_file_of_another_kind_is_refused_and_left_as_it_is(tmp_path: Path, text: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match="score log cannot be read"), opened(path):
        pass
    assert path.read_text(encoding="utf-8") == text


def test_a_damaged_line_inside_is_told_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "log"
    lines = written(path).splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1][:30] + b"\n" + lines[2])
    with pytest.raises(UserError, match="line 2"), opened(path):
        pass


def test_two_runs_at_once_are_refused(tmp_path: Path) -> None:
    with opened(tmp_path / "log"):
        with pytest.raises(UserError, match="another run is writing"), opened(tmp_path / "log"):
            pass
    with opened(tmp_path / "log") as log:
        assert not log.by_signature


def test_a_chunk_is_on_disk_before_the_next_is_scored(tmp_path: Path) -> None:
    path, sizes = tmp_path / "log", []

    def look(item: object) -> Value:
        sizes.append(path.stat().st_size)
        return Value(1.0)

    with opened(path) as log:
        asked = StressTestRequest("n", "reference", "d", (), (), draws=100)
        run_stress_tests(of_words(*[8] * 30), asked, log, noises=[CUT], metrics=[counting_metric("look", look)])
    assert len(set(sizes)) > 2
    assert sizes == sorted(sizes)


def test_a_log_is_removed_while_it_is_held(tmp_path: Path) -> None:
    with opened(tmp_path / "log") as log:
        log.put("m", "m|v:1", VALUES, 0.5)
        log.remove()
        assert not (tmp_path / "log").exists()
    with opened(tmp_path / "log") as fresh:
        assert not fresh.by_signature
