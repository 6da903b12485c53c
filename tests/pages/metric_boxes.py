"""The tick boxes of metrics in the scoring panel."""

from __future__ import annotations

from collections.abc import Iterable

from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Checkbox

from tests.pages.said import unescaped


class MetricBoxes:
    """The metrics that are ticked, by name."""

    def __init__(self, at: AppTest) -> None:
        self.at = at

    @property
    def boxes(self) -> dict[str, Checkbox]:
        """The box of each metric."""
        keys = ((box, str(box.key).split("-", 2)) for box in self.at.checkbox)
        return {key[2]: box for box, key in keys if key[0] == "metric"}

    @property
    def value(self) -> list[str]:
        return [name for name, box in self.boxes.items() if box.value]

    @property
    def labels(self) -> dict[str, str]:
        """What the box of each metric says."""
        return {name: unescaped(box.label) for name, box in self.boxes.items()}

    def set_value(self, names: Iterable[str]) -> AppTest:
        """Tick these metrics and no others. Run the page afterwards."""
        wanted = set(names)
        assert wanted <= self.boxes.keys()
        for name, box in self.boxes.items():
            if box.value != (name in wanted):
                box.set_value(name in wanted)
        return self.at
