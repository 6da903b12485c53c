from collections.abc import Iterator

import pytest

from tests.stores import close_stores


@pytest.fixture(autouse=True)
def _close_stores() -> Iterator[None]:
    yield
    close_stores()
