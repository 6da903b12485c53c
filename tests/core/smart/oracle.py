"""SMART written as the paper has it: loops over one matrix, Figure 2 as it is printed (its two slips mended)."""

from collections.abc import Callable, Sequence

Matrix = Sequence[Sequence[float]]


def transposed(m: Matrix) -> Matrix:
    return [list(column) for column in zip(*m, strict=True)]


def one(m: Matrix) -> float:
    return sum(max(row) for row in m) / len(m)


def two(m: Matrix) -> float:
    rows, columns = len(m), len(m[0])

    def match(i: int, j: int) -> float:
        return m[i][j] if 0 <= i < rows and 0 <= j < columns else 0.0

    bigrams = [[(match(i, j) + match(i + 1, j + 1)) / 2 for j in range(-1, columns)] for i in range(-1, rows)]
    return one(bigrams)


def soft_lcs(m: Matrix) -> float:
    rows, columns = len(m), len(m[0])
    lcs = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows + 1):
        for j in range(columns + 1):
            if i != 0 and j != 0:
                match = m[i - 1][j - 1]
                lcs[i][j] = max(lcs[i - 1][j - 1] + match, lcs[i - 1][j] + match, lcs[i][j - 1])
    return lcs[-1][-1] / rows


def measured(recall: Callable[[Matrix], float], m: Matrix) -> tuple[float, float, float]:
    p, r = recall(transposed(m)), recall(m)
    return p, r, 2 * p * r / (p + r) if p + r > 0 else 0.0


RECALLS = {"1": one, "2": two, "L": soft_lcs}
