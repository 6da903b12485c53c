"""What commands print on stderr while they work."""

import contextlib
import io
import re
import time
from pathlib import Path

import pytest

from cli import metrics
from cli import options as progress
from cli.options import StatusLine, counted
from tests.cli import test_calibrate, test_evaluate, test_stress
from tests.cli.program import status_of
from tests.core.services.robustness.test_adversarial import CSV


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "FIRST", 0.02)
    monkeypatch.setattr(progress, "EVERY", 0.1)


def wait_for_lines(log: io.StringIO, lines: int) -> None:
    end = time.monotonic() + 60
    while len(log.getvalue().splitlines()) < lines:
        assert time.monotonic() < end
        time.sleep(0.005)


@pytest.mark.usefixtures("quick")
def test_a_log_gets_a_line_now_and_then_even_without_news() -> None:
    log, started = io.StringIO(), time.monotonic()
    status = StatusLine(log)
    with status.running("adversarial"):
        for done in range(100):
            status(f"MENLI · {done} of 100")
        wait_for_lines(log, 3)
        status("a note\n")
    lines = log.getvalue().splitlines()
    assert lines[-1] == "a note"
    assert (len(lines) - 2) * 0.1 <= time.monotonic() - started  # no more than one line per interval
    assert all(re.fullmatch(r"MENLI · 99 of 100 · \d s elapsed", line) for line in lines[:-1])


@pytest.mark.usefixtures("quick")
def test_before_any_news_the_command_is_named() -> None:
    log = io.StringIO()
    with StatusLine(log).running("calibrate"):
        wait_for_lines(log, 1)
    assert log.getvalue().startswith("calibrate · 0 s elapsed\n")


@pytest.mark.usefixtures("quick")
def test_quiet_hides_progress_and_no_note() -> None:
    log = io.StringIO()
    status = StatusLine(log)
    status.quiet = True
    with status.running("score"):
        status("chrF · 1 of 2")
        time.sleep(0.2)
        status("a note\n")
    assert log.getvalue() == "a note\n"


def test_a_short_command_prints_no_progress_to_a_log() -> None:
    log = io.StringIO()
    status = StatusLine(log)
    with status.running("score"):
        status("chrF · 1 of 2")
    assert log.getvalue() == ""


def test_a_terminal_shows_every_status_on_one_line() -> None:
    screen = Terminal()
    status = StatusLine(screen)
    with status.running("score"):
        status("chrF · 1 of 2")
        status("chrF · 2 of 2")
        status("a note\n")
    assert screen.getvalue() == "\r\x1b[KchrF · 1 of 2\r\x1b[KchrF · 2 of 2\r\x1b[Ka note\n\r\x1b[K"


@pytest.mark.usefixtures("quick")
def test_what_is_printed_after_the_work_has_its_line_to_itself() -> None:
    screen = Terminal()
    status = StatusLine(screen)
    with status.running("score"):
        status("chrF · 2 of 2")
        status.done()
        print("       chrf", file=screen)
        time.sleep(0.2)
        print("A     100.0", file=screen)
    assert seen(screen) == ["       chrf", "A     100.0", ""]


def seen(screen: Terminal) -> list[str]:
    """The lines that stand on a terminal in the end."""
    return [line.rsplit("\r\x1b[K")[-1] for line in screen.getvalue().split("\n")]


def given(command: str, folder: Path) -> list[str]:
    """The arguments of a command over small files."""
    out = ["--out", str(folder / "out.html")]
    if command == "adversarial":
        (folder / "menli.csv").write_text(CSV, encoding="utf-8")
        return [str(folder / "menli.csv"), "--metrics", "chrf", *out]
    if command == "stress":
        texts = str(test_stress.written(folder / "in.jsonl"))
        options = ["--seeds", "1", "--draws", "100", "--workers", "1", "--fail-on", "token-drop", *out]
        return [texts, "--metrics", "chrf,ter", "--tests", "truncation,token-drop", *options]
    if command == "evaluate":
        scores, human = test_evaluate.files(folder)
        return [str(scores), "--human", str(human), *out]
    refined, human = test_calibrate.files(folder)
    return [str(refined), "--human", str(human), *out]


def printed(screen: io.StringIO, *arguments: str, log: io.StringIO | None = None) -> None:
    """Run a command with both streams on one screen, or with stderr in a log."""
    with contextlib.redirect_stdout(screen), contextlib.redirect_stderr(screen if log is None else log):
        status_of(*arguments, quiet=False)


TIME = re.compile(r"\d\d:\d\d:\d\d")


@pytest.mark.parametrize("command", ["adversarial", "stress", "evaluate", "calibrate"])
def test_no_result_and_no_note_is_glued_to_the_progress(command: str, tmp_path: Path) -> None:
    arguments, screen, quiet = given(command, tmp_path), Terminal(), io.StringIO()
    printed(screen, command, *arguments)
    printed(quiet, command, *arguments, "--quiet")
    assert len(quiet.getvalue().splitlines()) > 2
    assert screen.getvalue().count("\r\x1b[K") > 3
    assert [TIME.sub("", line) for line in seen(screen)] == TIME.sub("", quiet.getvalue()).split("\n")


def test_the_time_left_follows_from_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    now, told = [0.0], list[str]()
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(progress, "status", told.append)
    report = counted("tests", 1000)
    for seconds, done in ((0.0, 0), (10.0, 1), (40.0, 4), (100.0, 10)):
        now[0] = seconds
        report(done / 1000)
    report(1.0)
    assert told[0] == "tests · 0 of 1,000"
    assert told[1:4] == [f"tests · {n} of 1,000 · about {m} min left" for n, m in ((1, 166), (4, 166), (10, 165))]
    assert told[4] == "tests · 1,000 of 1,000"


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("arguments", [("metrics",), ("metrics", "--quiet"), ("--quiet", "metrics")])
def test_the_command_line_reports_unless_it_is_quiet(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, log = io.StringIO(), io.StringIO()

    def table() -> str:
        time.sleep(0.2) if "--quiet" in arguments else wait_for_lines(log, 2)
        return "done"

    monkeypatch.setattr(metrics, "metrics_table", table)
    printed(out, *arguments, log=log)
    assert out.getvalue() == "done\n"
    assert log.getvalue().startswith("metrics · 0 s elapsed\n") or "--quiet" in arguments
    assert bool(log.getvalue()) == ("--quiet" not in arguments)
