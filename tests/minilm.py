"""all-MiniLM-L6-v2, which the encoder role is played by unless somebody chooses otherwise; tests skip where it is not installed."""

import pytest

from core.errors import UserError
from core.models.checkpoint import resolve


def need_minilm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Play the encoder with it, in fp32 on the processor, whatever the machine is set to."""
    try:
        resolve("minilm")
    except UserError as error:
        pytest.skip(str(error))
    for name, value in {"ENCODER": "minilm", "DTYPE": "fp32", "DEVICE": "cpu"}.items():
        monkeypatch.setenv(f"ERRORSCOPE_{name}", value)
