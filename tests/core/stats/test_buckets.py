from hypothesis import given
from hypothesis import strategies as st

from core.stats.buckets import Bucket, quantile_buckets


def test_different_values_fall_into_even_buckets() -> None:
    buckets = quantile_buckets([7, 1, 3, 9, 5, 2, 8, 4, 6, 10])
    assert buckets.buckets == (Bucket(1, 2, 2), Bucket(3, 4, 2), Bucket(5, 6, 2), Bucket(7, 8, 2), Bucket(9, 10, 2))
    assert buckets.of.tolist() == [3, 0, 1, 4, 2, 0, 3, 1, 2, 4]


def test_equal_values_stay_together() -> None:
    # aims at 2.5, 5, 7.5 of 10; the values end at 7 and 9 items
    assert quantile_buckets([0] * 7 + [1, 1, 5], 4).buckets == (Bucket(0, 0, 7), Bucket(1, 5, 3))
    assert quantile_buckets([3, 3, 3], 4).buckets == (Bucket(3, 3, 3),)


def test_more_buckets_than_values_give_one_each() -> None:
    assert quantile_buckets([2, 1], 5).buckets == (Bucket(1, 1, 1), Bucket(2, 2, 1))
    assert quantile_buckets([2.5], 5).buckets == (Bucket(2.5, 2.5, 1),)
    assert quantile_buckets([], 5).buckets == ()


@given(st.lists(st.integers(0, 12), min_size=1, max_size=60), st.integers(1, 8))
def test_the_buckets_split_the_items(values: list[int], n_buckets: int) -> None:
    buckets = quantile_buckets(values, n_buckets)
    assert 1 <= len(buckets.buckets) <= n_buckets
    assert sum(b.size for b in buckets.buckets) == len(values)
    for k, bucket in enumerate(buckets.buckets):
        held = [v for v, of in zip(values, buckets.of, strict=True) if of == k]
        assert (min(held), max(held), len(held)) == bucket
    assert all(a.high < b.low for a, b in zip(buckets.buckets, buckets.buckets[1:], strict=False))


@given(st.lists(st.integers(0, 12), min_size=1, max_size=60), st.integers(1, 8))
def test_each_cut_is_the_nearest_there_is(values: list[int], n_buckets: int) -> None:
    ends = [sum(v <= value for v in values) for value in sorted(set(values))][:-1]
    sizes = [b.size for b in quantile_buckets(values, n_buckets).buckets]
    cuts = [sum(sizes[: k + 1]) for k in range(len(sizes) - 1)]
    nearest = {min(ends, key=lambda e: (abs(e - k * len(values) / n_buckets), e)) for k in range(1, n_buckets) if ends}
    assert cuts == sorted(nearest)
