"""Whether accesses at a symbolic distance may touch a common byte, and in how many iterations' time.

For a distance D of two addresses, accesses of size_a and size_b bytes meet if D lies in (-size_b, size_a). Four tests
decide, each of which proves that it never does or says nothing:

1. By the greatest common divisor: D is a constant modulo what divides all its coefficients.
2. The range test (Blume and Eigenmann), which the thesis names in §4.1: D is at least size_a, or at most -size_b,
   by the signs of its coefficients and the bounds of what is in it. Symbolic coefficients are no obstacle.
3. The test of rows: where D is ``S·Q + R`` with a symbolic S that R cannot reach, the accesses meet in one row only.
4. By integer sets: no integers fulfil the facts of both accesses, and D in between. Exact where all is affine; it
   contains Banerjee's test. Without islpy there is none, and the others decide.
"""

from __future__ import annotations

from msgspec import Struct

from weft.analysis.sequential.rows import MAX_ROWS, taken_apart
from weft.analysis.sequential.scope import LoopContext
from weft.analysis.symbolic.expression import Expression, Symbol, as_expression
from weft.analysis.symbolic.facts import Facts
from weft.analysis.symbolic.integer_sets import has_isl, solutions


class DistanceTests(Struct, frozen=True):
    """The tests for pairs of accesses in different iterations of a loop.

    Parameters
    ----------
    loop
        The loop.
    iterations
        The symbol for how many iterations are between them.
    """

    loop: LoopContext
    iterations: Symbol

    def meet(
        self,
        facts: Facts,
        distance: Expression,
        size: Expression,
        later_size: Expression,
        rows: int = MAX_ROWS,
    ) -> tuple[bool, int | None]:
        """Whether the distance may lie between ``-later_size`` and `size`; the number of iterations if it is one.

        So many times the test of rows may be taken.
        """
        # Integer sets know nothing of products, and take longer.
        if not (has_isl() and _is_affine(distance)) and (
            facts.is_nonnegative(distance - size) or facts.is_nonnegative(-distance - later_size)
        ):
            return False, None
        may_meet, least, most = True, None, None
        if has_isl():
            system = [*facts.inequalities, size - 1 - distance, distance + later_size - 1]
            may_meet, least, most = solutions(self._concerned(system, distance), self.iterations)
        if may_meet and rows and self._in_different_rows(facts, distance, size, later_size, rows):
            return False, None
        return may_meet, least if least == most else None

    def _in_different_rows(
        self, facts: Facts, distance: Expression, size: Expression, later_size: Expression, rows: int
    ) -> bool:
        """Whether the accesses are apart by the test of rows.

        If ``D = S·Q + R`` with ``R <= S - later_size`` and ``-R <= S - size``, the accesses can only meet in the same
        row, with Q = 0, where D is R.
        """
        for symbol in sorted(distance.symbols(), key=lambda s: s.rank):
            if self.loop.contains(symbol.loop) or symbol.is_pointer:
                continue
            parts = distance.coefficients(symbol)
            if len(parts) < 2 or (len(parts) == 2 and parts[1].constant is not None):
                continue
            _, row, number = taken_apart(distance, symbol)
            stride = as_expression(symbol) * number
            if not (
                facts.is_nonnegative(stride - parts[0] - later_size)
                and facts.is_nonnegative(stride + parts[0] - size)
            ):
                continue
            one = as_expression(1)
            if not self.meet(facts, row, one, one, rows - 1)[0]:
                return True
            same = facts.also((row, -row))
            if not self.meet(same, parts[0], size, later_size, rows - 1)[0]:
                return True
        return False

    def _concerned(self, system: list[Expression], distance: Expression) -> list[Expression]:
        """The inequalities that say something of the symbols in the distance, or of symbols in those."""
        known = distance.symbols() | {self.iterations}
        left, kept = system, []
        growing = True
        while growing:
            growing = False
            rest: list[Expression] = []
            for inequality in left:
                symbols = inequality.symbols()
                if symbols & known:
                    kept.append(inequality)
                    growing |= not symbols <= known
                    known |= symbols
                else:
                    rest.append(inequality)
            left = rest
        return kept


def are_apart_modulo(distance: Expression, size: Expression, later_size: Expression) -> bool:
    """Whether the greatest common divisor of what is in the distance proves that the accesses never meet."""
    if size.constant is None or later_size.constant is None:
        return False
    divisor = distance.content()
    if not divisor:
        return not -later_size.constant < distance.offset < size.constant
    least = distance.offset % divisor
    return least >= size.constant and least - divisor <= -later_size.constant


def _is_affine(value: Expression) -> bool:
    """Whether integer sets describe all of an expression."""
    return all(
        not monomial or (len(monomial) == 1 and isinstance(monomial[0], Symbol)) for monomial in value.terms
    )
