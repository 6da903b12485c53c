"""How often pages read labels and campaigns, which may be a million events and hundreds of campaigns."""

from collections import Counter
from collections.abc import Callable
from functools import wraps
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.ports.store import Store
from db.campaigns.repository import SqlCampaigns
from tests.core.services.campaigns.filled import started
from tests.paths import APP


def opened(page: str, project: int) -> AppTest:
    at = AppTest.from_file(APP, default_timeout=60)
    at.query_params["project"] = str(project)
    at = at.switch_page(f"pages/{page}.py").run()
    assert not at.exception
    return at


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Callable[[type, str], Counter[str]]:
    """Return a function that counts the calls of a method from now on, by its name."""
    counted: Counter[str] = Counter()

    def count(of: type, name: str) -> Counter[str]:
        method = getattr(of, name)

        @wraps(method)
        def counting(*given: Any, **named: Any) -> Any:
            counted[name] += 1
            return method(*given, **named)

        monkeypatch.setattr(of, name, counting)
        return counted

    return count


@pytest.mark.parametrize("page", ["compare", "meta_evaluation"])
def test_pages_read_no_designs_to_find_out_what_changed(
    store: Store, calls: Callable[[type, str], Counter[str]], page: str
) -> None:
    campaign = started(store)
    at = opened(page, campaign.project_id)
    calls(SqlCampaigns, "list")
    found = calls(SqlCampaigns, "exist")
    at.run()
    assert not at.exception
    assert found["exist"]
    assert not found["list"]
