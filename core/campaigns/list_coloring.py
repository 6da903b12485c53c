"""Give the places of task lists to people, such that no person has two places of a row or two copies of a block."""

from __future__ import annotations


class ListColoring:
    """An edge coloring of the bipartite graph of rows and blocks: the edges are places, the colors people.

    It exists whenever a row has at most `people` places and a block at most `people` copies (König 1916).
    """

    def __init__(self, people: int) -> None:
        self.people = people
        self.person: dict[int, int] = {}
        self._ends: dict[int, tuple[int, int]] = {}
        self._in_row: dict[tuple[int, int], int] = {}
        self._of_block: dict[tuple[int, int], int] = {}

    def has(self, block: int, person: int) -> bool:
        return (block, person) in self._of_block

    def put(self, place: int, row: int, block: int, person: int) -> None:
        """Give a place to a person who has neither another one of the row nor another copy of the block."""
        self._ends[place] = row, block
        self.person[place] = person
        self._in_row[row, person] = self._of_block[block, person] = place

    def force(self, place: int, row: int, block: int) -> None:
        """Give a place to somebody, and exchange two people along an alternating path if nobody can have it otherwise."""
        free_in_row = [p for p in range(self.people) if (row, p) not in self._in_row]
        free_for_block = [p for p in range(self.people) if not self.has(block, p)]
        both = sorted(set(free_in_row).intersection(free_for_block))
        if both:
            self.put(place, row, block, both[0])
            return
        a, b = free_in_row[0], free_for_block[0]
        path = self._path(block, a, b)
        for at in path:
            self._remove(at)
        for at, person in path.items():
            self.put(at, *self._ends[at], b if person == a else a)
        self.put(place, row, block, a)

    def _path(self, block: int, a: int, b: int) -> dict[int, int]:
        """Return the places of the path that leaves `block` by its copy of person `a`, with the person of each."""
        path: dict[int, int] = {}
        at = self._of_block.get((block, a))
        while at is not None:
            path[at] = a
            beside = self._in_row.get((self._ends[at][0], b))
            if beside is None:
                break
            path[beside] = b
            at = self._of_block.get((self._ends[beside][1], a))
        return path

    def _remove(self, place: int) -> None:
        row, block = self._ends[place]
        del self._in_row[row, self.person[place]], self._of_block[block, self.person[place]]
