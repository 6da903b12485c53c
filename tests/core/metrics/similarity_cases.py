"""Outputs with references, and what the original packages gave them on all-MiniLM-L6-v2 (torch 2.13.0, transformers 5.23.0)."""

from collections.abc import Sequence
from typing import NamedTuple

from core.data import Item, Value
from core.metrics.base import Metric
from core.progress import no_progress

LONG = 500

Triple = tuple[float, float, float]


class Case(NamedTuple):
    """`bertscore`, `bertscore_idf`: P, R, F of bert-score; `moverscore`: None where the program has no words to carry."""

    output: str
    reference: str
    bertscore: Triple
    bertscore_idf: Triple
    moverscore: float | None


# fmt: off
CASES = [
    Case("The cat sat on the mat.", "A cat was sitting on the mat.", (0.931639, 0.905306, 0.918284), (0.913963, 0.881169, 0.897266), 0.639517),
    Case("The cat sat on the mat.", "The cat sat on the mat.", (1.000000, 1.000000, 1.000000), (1.000000, 1.000000, 1.000000), 0.923996),
    Case("He did not go to the market yesterday.", "He went to the market yesterday.", (0.824813, 0.945715, 0.881136), (0.781140, 0.947437, 0.856289), 0.587317),
    Case("Stocks fell sharply after the announcement", "After the announcement, share prices dropped steeply.", (0.743962, 0.684318, 0.712895), (0.716493, 0.668560, 0.691697), 0.397346),
    Case("The committee approved 3.5 million euros for 12 new schools.", "The committee rejected €3.5 million for twelve new schools.", (0.914799, 0.914799, 0.914799), (0.887979, 0.899789, 0.893845), 0.698738),
    Case("Die Katze schläft auf dem Sofa.", "The cat is sleeping on the sofa.", (0.314418, 0.392763, 0.349251), (0.287201, 0.404229, 0.335811), -0.095124),
    Case("她昨天去了北京。", "She went to Beijing yesterday.", (0.406142, 0.388758, 0.397260), (0.417860, 0.368296, 0.391515), -0.190026),
    Case("Он не знает, что делать", "He does not know what to do 😀", (0.256344, 0.271038, 0.263486), (0.252627, 0.269125, 0.260615), -0.320545),
    Case("بيت أزرق صغير", "a small blue house", (0.302411, 0.307224, 0.304798), (0.302411, 0.286967, 0.294486), -0.487157),
    Case("naïve café façade", "naive cafe facade", (1.000000, 1.000000, 1.000000), (1.000000, 1.000000, 1.000000), 1.000000),
    Case("a", "b", (0.595719, 0.595719, 0.595719), (0.595719, 0.595719, 0.595719), 0.268521),
    Case(".", "The end.", (0.583065, 0.317729, 0.411319), (0.583065, 0.205649, 0.304056), None),
    Case("   leading and trailing   ", "leading and trailing", (1.000000, 1.000000, 1.000000), (1.000000, 1.000000, 1.000000), 1.000000),
    Case("Antidisestablishmentarianism floccinaucinihilipilification", "pneumonoultramicroscopicsilicovolcanoconiosis is a word", (0.482290, 0.496623, 0.489351), (0.482290, 0.486352, 0.484313), -0.366315),
    Case("tab\tand\nnewline", "tab and newline", (1.000000, 1.000000, 1.000000), (1.000000, 1.000000, 1.000000), 1.000000),
    Case("The quick brown fox jumps over the lazy dog", "dog lazy the over jumps fox brown quick The", (0.893747, 0.885651, 0.889681), (0.899235, 0.896581, 0.897906), 0.782887),
    Case("I think this is, honestly, the worst film I have ever seen!!!", "Honestly, this film is among the best I have seen.", (0.726694, 0.783097, 0.753842), (0.699632, 0.788872, 0.741577), 0.524802),
    Case("In 1998 the river flooded the valley twice. " * 3, "The valley was flooded two times by the river in 1998.", (0.881067, 0.872678, 0.876853), (0.864854, 0.861850, 0.863349), 0.576851),
    Case("one two three four five six seven eight nine ten " * 60, "ten nine eight seven six five four three two one " * 60, (0.990141, 0.990281, 0.990211), (0.990186, 0.990291, 0.990238), 0.965063),
    Case("", "An output of nothing.", (0.000000, 0.000000, 0.000000), (0.000000, 0.000000, 0.000000), None),
]
# fmt: on


def apart(metric: Metric, items: Sequence[Item]) -> list[Value]:
    """The values of `items`. Long texts are scored one by one: beside them every short text would be padded to their length."""
    short = [item for item in items if len(item.hypothesis) < LONG > max(map(len, item.references))]
    values = dict(zip(short, metric.score(short, no_progress), strict=True))
    return [values[item] if item in values else metric.score([item], no_progress)[0] for item in items]
