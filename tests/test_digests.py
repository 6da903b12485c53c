"""The comparison of `tests.bench.digests`: what is equal within the tolerance, what differs, and what is only counted or renamed."""

from __future__ import annotations

from pathlib import Path

from tests.bench import digest_values as values
from tests.bench.digest_values import Digest


def test_a_check_finds_each_number_and_word_that_moved_and_nothing_else(tmp_path: Path) -> None:
    def made(
        score: float = 0.1234567891234,
        rank: str = "rank",
        system: str = "Ada",
        printed: str = "τ is .51",
        texts: int = 2,
    ) -> dict[str, Digest]:
        rows = [{"system": "Bob", "score": 3.0, rank: 7}, {"system": system, "score": score, rank: None}]
        report = {"rows": rows, "out": values.printed(f"at 2026-03-02 09:00:01 {printed}"), "made": ["a text"] * texts}
        table = values.document("a.csv", b"name,value\nx,1.5\nx,1.5\n")
        return {"report": values.digest(report, counted=("made",)), "table": values.digest(table)}

    def differing(now: dict[str, Digest], *, numbers_only: bool = False) -> list[str]:
        rows, said = values.compare(values.load(file)[0], now, numbers_only=numbers_only), list[str]()
        assert values.table(rows, said.append) == (not any(row.differing for row in rows))
        assert all(any(line in shown for shown in said) for row in rows for line in (*row.differing, *row.notes))
        return [line for row in rows for line in row.differing]

    for file in (tmp_path / "digests.json", tmp_path / "digests.json.xz"):
        values.save(file, made(), {"python": "3"})
        bytes_before = file.read_bytes()
        values.save(file, made(), {"python": "3"})
        assert file.read_bytes() == bytes_before
        assert values.load(file)[1] == {"python": "3"}
        assert differing(made()) == differing(made(score=0.1234567894)) == []
    assert "Ada" not in (tmp_path / "digests.json").read_text()  # of texts, only digests are kept
    (moved,) = differing(made(score=0.1234567))
    assert moved == "rows[].score, value 2 of 2: 0.12345678912 before, 0.1234567 now"
    (word,) = differing(made(system="Eve"))
    assert word.startswith("rows[].system, value 2 of 2: ")
    assert word.endswith("('Eve') now")
    assert differing(made(system="Eve", printed="tau: .51"), numbers_only=True) == []
    assert differing(made(printed="τ is .52"), numbers_only=True) == [
        "out.numbers[], value 1 of 1: 0.51 before, 0.52 now"
    ]
    assert differing(made(rank="place")) == []  # another name, the same values
    assert differing(made(texts=3)) == []  # counted only
    assert differing({"report": made()["report"]}) == [
        "length: gone, 1 values", "[].name: gone, 2 values", "[].value: gone, 2 values",
    ]  # fmt: skip
    (row, _) = values.compare(made(), made(score=0.5))
    assert (row.equal, row.values, round(row.largest, 6)) == (row.values - 1, row.values, 0.376543)
