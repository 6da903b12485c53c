"""Training uses bf16 on a GPU, and on a processor that has instructions for it."""

from __future__ import annotations

import pytest
import torch

from tools.nli_pairs import autocast


@pytest.mark.parametrize(
    ("capabilities", "expected"),
    [
        ({"avx512_f": True}, torch.float32),
        ({"avx512_f": True, "avx512_bf16": True}, torch.bfloat16),
        ({"amx_bf16": True}, torch.bfloat16),
        ({}, torch.float32),
    ],
)
def test_products_have_the_format_that_the_processor_computes_in(
    monkeypatch: pytest.MonkeyPatch, capabilities: dict[str, bool], expected: torch.dtype
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)
    with autocast():
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == expected


def test_a_gpu_computes_in_bf16() -> None:
    if torch.cuda.is_available():
        found = autocast("cuda")
    else:
        with pytest.warns(UserWarning, match="CUDA is not available"):
            found = autocast("cuda")
    assert isinstance(found, torch.autocast)
    assert (found.device, found.fast_dtype) == ("cuda", torch.bfloat16)
