"""Stored ranges: which values are pooled, and invalid files."""

import json
from pathlib import Path

import pytest

from core.errors import UserError
from core.metrics import ranges


def test_ranges_ignore_library_versions(tmp_path: Path) -> None:
    signed = "bartscore|v:1|rev:abc|torch:2.0|transformers:5.0|dtype:fp32"
    assert ranges.key(signed) == ranges.key(signed.replace("2.0", "2.9").replace("5.0", "5.9"))
    assert ranges.key(signed) != ranges.key(signed.replace("abc", "abd"))
    path = tmp_path / "r.json"
    fitted = ranges.fit({"m|v:1|torch:2.1": [0.0, 10.0], "m|v:1|torch:2.2": [4.0, 5.0]}, path)
    assert json.loads(path.read_text()) == {"m|v:1": {"low": 0, "high": 10, "n": 4}}
    assert list(fitted) == ["m|v:1"]
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


def test_fitting_keeps_other_ranges_and_needs_two_values(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    ranges.fit({"a|v:1": [1, 2]}, path)
    ranges.fit({"b|v:1": [-3, 5, 0]}, path)
    assert json.loads(path.read_text()) == {
        "a|v:1": {"low": 1, "high": 2, "n": 2},
        "b|v:1": {"low": -3, "high": 5, "n": 3},
    }
    with pytest.raises(UserError, match="cannot fit a range"):
        ranges.fit({"c|v:1": [4, 4]}, path)
    for content in ("[]", '{"x": {"low": 0, "high": 1, "n": Infinity}}'):
        path.write_text(content)
        with pytest.raises(UserError, match="cannot read"):
            ranges.stored(path)


def test_shipped_ranges_can_be_read() -> None:
    assert all(r.low < r.high for r in ranges.stored(ranges.SHIPPED).values())
    assert any(key.startswith("bertscore|") for key in ranges.stored(ranges.SHIPPED))
