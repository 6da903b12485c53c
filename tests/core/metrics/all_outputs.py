"""Items as all outputs of a dataset, for metrics that are fitted on them."""

from collections.abc import Sequence

from core.data import Item, SegmentKey
from core.metrics.base import AllOutputs


def all_outputs(items: Sequence[Item]) -> AllOutputs:
    """Every item as the only output of a segment of its own."""
    return [(SegmentKey("d", str(n)), item) for n, item in enumerate(items)]
