"""The λ of BARTScore++'s authors, for the data sets of their paper (Lu et al. 2023, Table 7 and section 5.1)."""

from __future__ import annotations

from typing import Literal, NamedTuple

from core.refine.result import Variant


class Preset(NamedTuple):
    """`aspect` is the quality aspect or the language pair; "" where there is none."""

    task: Literal["MT", "SUM", "D2T"]
    dataset: str
    aspect: str
    lam: float
    variant: Variant

    @property
    def label(self) -> str:
        return f"{self.dataset} {self.aspect}".strip()


_WMT20 = {
    "cs-en": 0.80,
    "de-en": 0.40,
    "ja-en": 0.50,
    "ru-en": 1.70,
    "zh-en": 1.10,
    "iu-en": 0.95,
    "km-en": 1.30,
    "pl-en": 0.85,
    "ps-en": 1.10,
    "ta-en": 0.60,
}

PRESETS: tuple[Preset, ...] = (
    *(Preset("MT", "WMT20", pair, lam, "f") for pair, lam in _WMT20.items()),
    Preset("MT", "WMT20 MQM", "zh-en", 1.70, "f"),
    Preset("SUM", "REALSumm", "COV", 0.95, "recall"),
    Preset("SUM", "SummEval", "COH", 1.00, "faithfulness"),
    Preset("SUM", "SummEval", "FAC", 0.75, "faithfulness"),
    Preset("SUM", "SummEval", "FLU", 1.40, "faithfulness"),
    Preset("SUM", "SummEval", "INFO", 0.95, "faithfulness"),
    Preset("SUM", "NeR18", "COH", 1.10, "faithfulness"),
    Preset("SUM", "NeR18", "FLU", 0.75, "faithfulness"),
    Preset("SUM", "NeR18", "INFO", 0.70, "faithfulness"),
    Preset("SUM", "NeR18", "REL", 0.70, "faithfulness"),
    Preset("SUM", "Rank19", "FAC", 0.85, "faithfulness"),
    Preset("SUM", "QAGS-CNN", "FAC", 1.00, "faithfulness"),
    Preset("SUM", "QAGS-XSUM", "FAC", 0.90, "faithfulness"),
    Preset("D2T", "BAGEL", "", 2.00, "f"),
    Preset("D2T", "SFRES", "", 1.40, "f"),
    Preset("D2T", "SFHOT", "", 4.90, "f"),
)
