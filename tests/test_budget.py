"""`make test` stays short: each folder has a number of tests that it may run there. Further ones replace others, or are `extended`."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.paths import ROOT

LARGEST_SHARE = {"browser": 12, "pages": 169, "api": 165, "db": 355, "core": 4260, "cli": 210, "tools": 16, "": 65}
"""Tests per folder that are not marked `extended`; the folders whose tests take longest come first."""


def folder_of(item: pytest.Item) -> str:
    parts = item.path.relative_to(ROOT / "tests").parts
    return parts[0] if len(parts) > 1 else ""


def test_no_folder_exceeds_its_share_of_make_test(request: pytest.FixtureRequest) -> None:
    items = [item for item in request.session.items if not item.get_closest_marker("extended")]
    tests = Counter(map(folder_of, items))
    assert {folder: n for folder, n in tests.items() if n > LARGEST_SHARE.get(folder, 0)} == {}
