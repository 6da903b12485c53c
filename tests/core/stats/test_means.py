"""Equal means are exactly equal, whichever numbers they are the means of."""

from fractions import Fraction
from itertools import permutations

from core.stats.means import decimal_mean, equal_decimal_means


def test_means_of_decimals_are_exact_and_correctly_rounded() -> None:
    for values, right in [
        ((0.0, 0.0, 0.3), 0.1),
        ((0.0, 0.1, 0.2), 0.1),
        ((-0.3, 0.1, 0.2), 0.0),
        ((1.1, 2.2), 1.65),
        ((70.0, 80.0), 75.0),
        ((1.0, 2.0, 2.0), float(Fraction(5, 3))),
        ((12345.1, 12345.2, 12345.3), 12345.2),
        ((1e-13, 2e-13, 3e-13), 2e-13),
        ((0.7,), 0.7),
    ]:
        assert {decimal_mean(order) for order in permutations(values)} == {right}


def test_means_of_computed_numbers_that_are_equal_tie() -> None:
    thirds = [1 / 3, 2 / 3, 0.1 + 0.2, 0.7]
    means = equal_decimal_means([thirds, [0.5], [0.4999], [-(0.5**0.5), 0.5**0.5], [0.0]])
    assert means[0] == means[1] != means[2]
    assert means[3] == means[4]
    assert equal_decimal_means([]) == []
