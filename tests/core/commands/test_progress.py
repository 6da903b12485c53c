"""What commands print on stderr while they work."""

import io
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from core.commands import progress
from core.commands.progress import Progress, counted
from tests.core.commands.program import ROOT


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "FIRST", 0.1)
    monkeypatch.setattr(progress, "EVERY", 0.3)


@pytest.mark.usefixtures("quick")
def test_a_log_gets_a_line_now_and_then_even_without_news() -> None:
    log = io.StringIO()
    say = Progress(log)
    with say.running("adversarial"):
        for done in range(100):
            say(f"MENLI · {done} of 100")
        time.sleep(1.2)
        say("a note\n")
    lines = log.getvalue().splitlines()
    assert lines[-1] == "a note"
    assert 2 <= len(lines[:-1]) <= 5
    assert all(re.fullmatch(r"MENLI · 99 of 100 · \d s so far", line) for line in lines[:-1])


@pytest.mark.usefixtures("quick")
def test_before_any_news_the_command_is_named() -> None:
    log = io.StringIO()
    with Progress(log).running("calibrate"):
        time.sleep(0.4)
    assert log.getvalue().startswith("calibrate · 0 s so far\n")


@pytest.mark.usefixtures("quick")
def test_quiet_hides_progress_and_no_note() -> None:
    log = io.StringIO()
    say = Progress(log)
    say.quiet = True
    with say.running("score"):
        say("chrF · 1 of 2")
        time.sleep(0.5)
        say("a note\n")
    assert log.getvalue() == "a note\n"


def test_a_short_command_prints_no_progress_to_a_log() -> None:
    log = io.StringIO()
    say = Progress(log)
    with say.running("score"):
        say("chrF · 1 of 2")
    assert log.getvalue() == ""


def test_a_terminal_shows_every_status_on_one_line() -> None:
    screen = Terminal()
    say = Progress(screen)
    with say.running("score"):
        say("chrF · 1 of 2")
        say("chrF · 2 of 2")
        say("a note\n")
    assert screen.getvalue() == "\r\x1b[KchrF · 1 of 2\r\x1b[KchrF · 2 of 2\r\x1b[Ka note\n\r\x1b[K"


def test_the_time_left_follows_from_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    now, told = [0.0], list[str]()
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    step = counted(told.append, "tests")
    for seconds, done in ((0.0, 0), (10.0, 1), (40.0, 4), (100.0, 10)):
        now[0] = seconds
        step(done, 1000)
    step(1000, 1000)
    assert told[0] == "tests · 0 of 1,000"
    assert told[1:4] == [f"tests · {n} of 1,000 · about {m} min left" for n, m in ((1, 166), (4, 166), (10, 165))]
    assert told[4] == "tests · 1,000 of 1,000"


SLOW = """
import sys, time
from core.commands import progress, metrics
progress.FIRST, progress.EVERY = 0.2, 0.4
metrics.table = lambda: (time.sleep(1.5), "done")[1]
sys.argv = ["core", *sys.argv[1:]]
from core.__main__ import main
main()
"""


@pytest.mark.parametrize("arguments", [("metrics",), ("metrics", "--quiet"), ("--quiet", "metrics")])
def test_the_command_line_reports_unless_it_is_quiet(arguments: tuple[str, ...], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SLOW, *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "done\n"
    if "--quiet" in arguments:
        assert done.stderr == ""
    else:
        assert "metrics · 0 s so far\n" in done.stderr
        assert len(done.stderr.splitlines()) >= 2
