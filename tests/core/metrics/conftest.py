import pytest

from tests import tiny_checkpoints as tiny


@pytest.fixture
def tiny_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Configure a tiny model of every kind."""
    for name, value in tiny.environment().items():
        monkeypatch.setenv(name, value)
