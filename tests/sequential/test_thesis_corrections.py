"""What the thesis prints wrong, and what is right: each correction of docs/papers.md on a function of its own."""

from pathlib import Path

import pytest

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")
pytest.importorskip("ziglang", reason="clang comes with the ziglang wheel (extra 'clang')")

from weft.analysis.sequential.accesses import Accesses
from weft.analysis.sequential.reconstruction import Reconstruction
from weft.analysis.sequential.scope import Program, Scope
from weft.ir import Instruction
from weft.loops.analysis import analyze_file


class Values:
    """The numbers that a function stores, in order."""

    def __init__(self, tmp_path: Path, body: str, given: str) -> None:
        file = tmp_path / "f.c"
        loop = "void g(int n, int *o) { for (int i = 0; i < n; i++) o[i] = 0; }\n"
        file.write_text(f"struct s {{ int x; int y; }};\n{loop}void f({given}, int *o) {{ {body} }}\n")
        module = analyze_file(file).loops[0].loop.scope.program.module
        self.scope = Scope(Program(module), module.functions["f"])
        self.made = Reconstruction(self.scope.program)
        self.ranges = Accesses(self.made).ranges
        self.stores = [i for i in self.scope.function.instructions() if i.op == "store"]

    def is_between(self, store: Instruction, low: int, high: int) -> bool:
        """Whether these are bounds of what is stored that are proved, and no closer ones are."""
        assert store.block is not None
        value = self.made.at(self.scope, store.stored_value, store.block)
        facts = self.ranges.complete(self.made.facts(self.scope, store.block), [value])
        proved = facts.is_nonnegative(value - low) and facts.is_nonnegative(high - value)
        return proved and not (facts.is_positive(value - low) or facts.is_positive(high - value))

    def sign(self, store: Instruction) -> set[int]:
        assert store.block is not None
        value = self.made.at(self.scope, store.stored_value, store.block)
        return set(self.made.facts(self.scope, store.block).sign(value))


def test_figure_8_7_h(tmp_path: Path) -> None:
    """For a < b, a is at most b_hi - 1; else at least b_lo. The thesis has b_lo - 1 and b_hi."""
    body = "if (b < 0 || b > 10 || a < -50 || a > 50) return; if (a < b) o[0] = a; else o[1] = a;"
    values = Values(tmp_path, body, "int a, int b")
    then, otherwise = values.stores
    assert values.is_between(then, -50, 9)
    assert values.is_between(otherwise, 0, 50)


@pytest.mark.parametrize(
    ("condition", "expression", "low", "high"),
    [
        # The remainder: the divisor's range is not its own, and C's has the sign of the dividend.
        ("a < 0", "a % 10", 0, 9),
        # The printed sum takes c twice.
        ("a < 2 || a > 5 || b < 3 || b > 4", "a + b", 5, 9),
    ],
)
def test_table_8_4(tmp_path: Path, condition: str, expression: str, low: int, high: int) -> None:
    values = Values(tmp_path, f"if ({condition}) return; *o = {expression};", "int a, int b")
    assert values.is_between(values.stores[0], low, high)


def test_products_take_the_ends_that_signs_choose(tmp_path: Path) -> None:
    body = "if (a < -2 || a > 3 || b < -5 || b > 4) return; *o = a * b;"
    values = Values(tmp_path, body, "int a, int b")
    (store,) = values.stores
    assert values.scope.ranges.at(store.stored_value, store.block) == (-15, 12)


def test_a_remainder_may_be_negative(tmp_path: Path) -> None:
    values = Values(tmp_path, "*o = a % 10;", "int a")
    assert values.sign(values.stores[0]) == {-1, 0, 1}


def test_table_8_6_e(tmp_path: Path) -> None:
    """A field is whatever was stored; the thesis takes it for positive."""
    values = Values(tmp_path, "*o = p->y;", "struct s *p")
    assert values.sign(values.stores[0]) == {-1, 0, 1}


def test_table_8_6_g(tmp_path: Path) -> None:
    """In the else branch of a < b with a negative b, a may be 0."""
    values = Values(tmp_path, "if (b >= 0) return; if (a < b) o[0] = a; else o[1] = a;", "int a, int b")
    then, otherwise = values.stores
    assert values.sign(then) == {-1}
    assert values.sign(otherwise) == {-1, 0, 1}


def test_section_5_1(tmp_path: Path) -> None:
    """Both mappings of the addition of matrices: 1 line for a warp along rows, min(32, N) down columns, not N/4."""
    file = tmp_path / "f.c"
    file.write_text(
        "void add(int N, const float *a, const float *b, float *c) {\n  for (int i = 0; i < N; i++)\n"
        "    for (int j = 0; j < N; j++)\n      c[i * N + j] = a[i * N + j] + b[i * N + j];\n}\n"
    )
    outer = analyze_file(file).loops[0]
    assert outer.mapping is not None and outer.mapping.best == "x=j, y=i"
    for access in outer.accesses:
        assert access.cost is not None
        assert access.cost.transactions == {"x=j, y=i": "1", "x=i, y=j": "min(32, N)"}


def test_algorithm_1(tmp_path: Path) -> None:
    """What begins within a line takes one more; the size of an element counts, and lanes a line apart take one each."""
    file = tmp_path / "f.c"
    file.write_text(
        "void f(int n, const float *a, const double *b, const char *c, float *restrict o) {\n"
        "  for (int i = 0; i < n; i++) o[i] = a[i + 1] + b[i] + c[i] + a[40 * i];\n}\n"
    )
    (loop,) = analyze_file(file).loops
    found = [(a.array, a.offset, a.cost.transactions["x=i"]) for a in loop.accesses if a.cost is not None]
    assert found == [
        ("a", "4*i + 4", "2"),
        ("b", "8*i", "2"),
        ("c", "i", "1"),
        ("a", "160*i", "32"),
        ("o", "4*i", "1"),
    ]
