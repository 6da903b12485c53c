import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.stats.buckets import Bucket, quantile_buckets


def test_different_values_fall_into_even_buckets() -> None:
    found = quantile_buckets([7, 1, 3, 9, 5, 2, 8, 4, 6, 10])
    assert found.buckets == (Bucket(1, 2, 2), Bucket(3, 4, 2), Bucket(5, 6, 2), Bucket(7, 8, 2), Bucket(9, 10, 2))
    assert found.of.tolist() == [3, 0, 1, 4, 2, 0, 3, 1, 2, 4]


def test_equal_values_stay_together() -> None:
    # aims at 2.5, 5, 7.5 of 10; the values end at 7 and 9 items
    assert quantile_buckets([0] * 7 + [1, 1, 5], 4).buckets == (Bucket(0, 0, 7), Bucket(1, 5, 3))
    assert quantile_buckets([3, 3, 3], 4).buckets == (Bucket(3, 3, 3),)


def test_more_buckets_than_values_give_one_each() -> None:
    assert quantile_buckets([2, 1], 5).buckets == (Bucket(1, 1, 1), Bucket(2, 2, 1))
    assert quantile_buckets([2.5], 5).buckets == (Bucket(2.5, 2.5, 1),)
    assert quantile_buckets([], 5).buckets == ()


@given(st.lists(st.integers(0, 12), min_size=1, max_size=60), st.integers(1, 8))
def test_the_buckets_split_the_items(values: list[int], wanted: int) -> None:
    found = quantile_buckets(values, wanted)
    assert 1 <= len(found.buckets) <= wanted
    assert sum(b.size for b in found.buckets) == len(values)
    for k, bucket in enumerate(found.buckets):
        held = [v for v, of in zip(values, found.of, strict=True) if of == k]
        assert (min(held), max(held), len(held)) == bucket
    assert all(a.high < b.low for a, b in zip(found.buckets, found.buckets[1:], strict=False))


@given(st.lists(st.integers(0, 12), min_size=1, max_size=60), st.integers(1, 8))
def test_each_cut_is_the_nearest_there_is(values: list[int], wanted: int) -> None:
    ends = [sum(v <= value for v in values) for value in sorted(set(values))][:-1]
    sizes = [b.size for b in quantile_buckets(values, wanted).buckets]
    cuts = [sum(sizes[: k + 1]) for k in range(len(sizes) - 1)]
    nearest = {min(ends, key=lambda e: (abs(e - k * len(values) / wanted), e)) for k in range(1, wanted) if ends}
    assert cuts == sorted(nearest)


def test_what_cannot_be_split_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        quantile_buckets([1, float("nan")])
    with pytest.raises(ValueError, match="1 or more"):
        quantile_buckets([1, 2], 0)
