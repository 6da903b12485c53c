"""Stored ranges: which values are pooled, and invalid files."""

import json
from pathlib import Path

import pytest

from core.errors import UserError
from core.metrics import ranges


def test_ranges_ignore_library_versions(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    found = ranges.fit({"m|v:1|torch:2.1": [0.0, 10.0], "m|v:1|torch:2.2": [4.0, 5.0]}, path)
    assert json.loads(path.read_text()) == {"m|v:1": {"low": 0, "high": 10, "n": 4}}
    assert list(found) == ["m|v:1"]
    assert ranges.fit({"m|torch:1": [3.0], "m|torch:2": [7.0]}, path)["m"][:2] == (3, 7)


@pytest.mark.parametrize(
    "ends", ['"low": 1, "high": 1', '"low": NaN, "high": 1', '"low": 0, "high": Infinity', '"low": 2, "high": 1']
)
def test_a_stored_range_needs_two_finite_ends(tmp_path: Path, ends: str) -> None:
    path = tmp_path / "r.json"
    path.write_text(f'{{"x|v:1": {{{ends}, "n": 3}}}}')
    with pytest.raises(UserError, match=r"not a range.*x\|v:1") as error:
        ranges.stored(path)
    assert error.value.where == str(path)


def test_a_count_that_is_no_number_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text('{"x": {"low": 0, "high": 1, "n": Infinity}}')
    with pytest.raises(UserError, match="cannot read"):
        ranges.stored(path)
