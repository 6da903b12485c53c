"""Names in charts: nothing that ends a line of code, nothing that every object has, and different names stay different."""

from __future__ import annotations

import pandas as pd

from core.plots.base import chart_labels, with_labels

ODD = [
    "a\nb",
    "a\rb",
    "a b",
    "a\u2028b",
    "a\u2029b",
    "a\u0085b",
    "a\x00b",
    "a\x1bb",
    "a\\",
    "\\n",
    "__proto__",
    "constructor",
    "image",
    "title",
]


def test_ordinary_names_stay_and_odd_ones_can_be_told_apart() -> None:
    assert chart_labels(["chrF ↑", "BLEU|k:5", "日本", "a.b[0]", ""]) == ["chrF ↑", "BLEU|k:5", "日本", "a.b[0]", ""]
    assert chart_labels(["مرحبا!", "A مرحبا!"]) == [
        "\u2068مرحبا!\u2069",
        "\u2068A مرحبا!\u2069",
    ]  # punctuation stays at its word
    shown = chart_labels([*ODD, "שלום?"])
    assert len(set(shown)) == len(ODD) + 1
    assert chart_labels(shown) == shown
    assert not any(
        len(label.splitlines()) > 1 or label in ("__proto__", "constructor", "image", "title") for label in shown
    )


def test_only_texts_of_the_named_columns_change() -> None:
    rows = pd.DataFrame({"metric": ["a\nb", None], "words": ["x\ny", "z"], "n": [1, 2]})
    rows.attrs["order"] = ["a"]
    shown = with_labels(rows, "metric", "missing")
    assert shown["metric"].tolist()[0] == "a␊b"
    assert pd.isna(shown["metric"][1])
    assert shown["words"].tolist() == ["x\ny", "z"]
    assert shown.attrs["order"] == ["a"]
