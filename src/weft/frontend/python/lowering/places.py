"""Where code runs before other code: the dominators of the blocks that a walk has started.

A walk begins a block when all branches to it are there but those that lead back from what the block dominates, so its
place below its dominator is known at once. Blocks that are begun in other ways are taken to be right below the body.
"""

from __future__ import annotations

from functools import reduce

from weft.ir.block import BasicBlock


class Place:
    """A block in the tree of dominators, with a way to those above it in logarithmic time."""

    __slots__ = ("_jump", "depth", "parent")

    def __init__(self, parent: Place | None = None) -> None:
        self.parent = parent or self
        self.depth = 0 if parent is None else parent.depth + 1
        # The pointers of a skew-binary list: equal depths jump equally far.
        above = self.parent._jump if parent is not None else self
        further = above._jump if parent is not None else self
        is_even = self.parent.depth - above.depth == above.depth - further.depth
        self._jump = further if is_even and parent is not None else self.parent

    def dominates(self, other: Place) -> bool:
        """Whether control that comes to `other` has come here before, or this is `other`."""
        return _above(other, self.depth) is self

    def common(self, other: Place) -> Place:
        """The last place that control comes through on all ways to both."""
        one = _above(self, other.depth)
        other = _above(other, one.depth)
        while one is not other:
            if one._jump is not other._jump:
                one, other = one._jump, other._jump
            else:
                one, other = one.parent, other.parent
        return one


def _above(place: Place, depth: int) -> Place:
    while place.depth > depth:
        place = place._jump if place._jump.depth >= depth else place.parent
    return place


class Places:
    """The places of a function's blocks."""

    __slots__ = ("_known", "_root")

    def __init__(self) -> None:
        self._root = Place()
        self._known: dict[BasicBlock, Place] = {}

    def start_body(self, block: BasicBlock) -> None:
        """Put the block that everything else comes after."""
        self._known[block] = self._root

    def start(self, block: BasicBlock) -> None:
        """Put a block below what all its branches come from."""
        known, root = self._known, self._root
        sources = block.predecessors
        above = reduce(Place.common, (known.get(source, root) for source in sources))
        known[block] = Place(above)

    def at(self, block: BasicBlock | None) -> Place | None:
        """The place of a block; None where it is not known."""
        return None if block is None else self._known.get(block)

    def is_before(self, place: Place, block: BasicBlock | None) -> bool:
        """Whether control has come through a place when it is in a block."""
        return place.dominates(self.at(block) or self._root)
