"""Outputs found by their names in arrays."""

import numpy as np

from db.places import Places, cut_keys


def test_names_are_found_wherever_they_stand_and_unknown_ones_left_out() -> None:
    names = np.array([[7, 3, 5, 3], [0, 1, 0, 2]])
    places = Places.of(names, np.array([10, 11, 12, 13]))
    at, which = places.find(np.array([[5, 3, 9, 3], [0, 2, 0, 9]]))
    assert sorted(zip(which.tolist(), at.tolist(), strict=True)) == [(0, 12), (1, 13)]


def test_equal_names_have_several_places() -> None:
    places = Places.of(np.array([[4, 4, 1]]), np.array([0, 1, 2]))
    at, which = places.find(np.array([[4, 1, 4]]))
    assert sorted(zip(which.tolist(), at.tolist(), strict=True)) == [(0, 0), (0, 1), (1, 2), (2, 0), (2, 1)]
    assert [found.tolist() for found in places.find(np.zeros((1, 0), dtype=np.int64))] == [[], []]


def test_cut_keys_differ_in_any_of_their_first_32_digits() -> None:
    key = "0123456789abcdef" * 4
    others = [key[:i] + ("e" if key[i] == "f" else "f") + key[i + 1 :] for i in (0, 15, 16, 31)]
    names = cut_keys([key, *others, key[:63] + "0"])
    assert names.shape == (2, 6)
    assert len({tuple(name) for name in names.T.tolist()}) == 5
    assert cut_keys(()).shape == (2, 0)
