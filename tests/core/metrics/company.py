"""Items as the company of a metric whose values depend on the others."""

from collections.abc import Sequence

from core.data import Item, SegmentKey
from core.metrics.base import Company


def company(items: Sequence[Item]) -> Company:
    """Every item as the only output of a segment of its own."""
    return [(SegmentKey("d", str(n)), item) for n, item in enumerate(items)]
