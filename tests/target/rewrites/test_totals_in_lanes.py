"""Running values that go on side by side are one vector (`running_values`, `totals_in_lanes`)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from weft.interp import Memory, Program, run_function
from weft.ir import Module
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.target.rewrites.totals_in_lanes import join_totals

#  entry ──> head <──> body
#             └─> done
LOOP = """
define void @f(ptr %a, ptr %b, i64 %n, {type} %c, ptr %out) {{
entry:
  br label %head
head:
  %k = phi i64 [ 0, %entry ], [ %next, %body ]
{phis}
  %more = icmp ult i64 %k, %n
  br i1 %more, label %body, label %done
body:
  %here = getelementptr {type}, ptr %a, i64 %k
  %there = getelementptr {type}, ptr %b, i64 %k
{updates}
  %next = add nuw nsw i64 %k, {step}
  br label %head
done:
{closed}
{stores}
  ret void
}}
"""
UPDATE = """  %pa{n} = getelementptr i8, ptr %here, i64 {bytes}
  %a{n} = load {type}, ptr %pa{n}, align {align}
  %pb{n} = getelementptr i8, ptr %there, i64 {bytes}
  %b{n} = load {type}, ptr %pb{n}, align {align}
  %m{n} = {product} {type} %a{n}, %b{n}
  %u{n} = {operation} {type} {operands}
"""
FLOATS = {"type": "float", "product": "fmul", "operation": "fadd"}


def loop(offsets: list[int], start: str = "0.0", operands: str = "%r{n}, %m{n}", **parts: str) -> str:
    """A loop of running values, each with the elements so far behind the counter's."""
    parts = FLOATS | parts
    size = {"float": 4, "double": 8, "i32": 4, "i16": 2}[parts["type"]]
    numbers = range(len(offsets))
    updates = "".join(
        UPDATE.format(
            n=n, bytes=size * offsets[n], align=min(size, 4), operands=operands.format(n=n), **parts
        )
        for n in numbers
    )
    lines = {
        "phis": [f"  %r{n} = phi {parts['type']} [ {start}, %entry ], [ %u{n}, %body ]" for n in numbers],
        "closed": [f"  %c{n} = phi {parts['type']} [ %r{n}, %head ]" for n in numbers],
        "stores": [
            f"  %po{n} = getelementptr {parts['type']}, ptr %out, i64 {n}\n"
            f"  store {parts['type']} %c{n}, ptr %po{n}, align {min(size, 4)}"
            for n in numbers
        ],
    }
    return LOOP.format(
        type=parts["type"],
        updates=updates,
        step=max(offsets) + 1,
        **{name: "\n".join(each) for name, each in lines.items()},
    )


def made(text: str) -> tuple[Module, int]:
    module = read_module(text)
    count = join_totals(module.functions["f"])
    verify(module)
    return module, count


def run(module: Module, rounds: int, step: int, dtype: type) -> list[float]:
    random = np.random.default_rng(rounds)
    a, b = ((random.random((rounds + 1) * step) * 99).astype(dtype) for _ in range(2))
    out, memory = np.zeros(64, dtype), Memory()
    arguments = [memory.map_array(a), memory.map_array(b), rounds * step, dtype(3), memory.map_array(out)]
    run_function(Program(module), "f", arguments, 1, memory=memory)
    return out.tolist()


def same(text: str, step: int, dtype: type = np.float32) -> int:
    """How many vectors there are, by which the same is computed."""
    module, count = made(text)
    plain = read_module(text)
    for rounds in (0, 1, 2, 7):
        assert run(module, rounds, step, dtype) == run(plain, rounds, step, dtype)
    return count


@pytest.mark.parametrize(
    ("type", "dtype", "product", "operation"),
    [
        ("float", np.float32, "fmul", "fadd"),
        ("double", np.float64, "fmul contract", "fsub contract"),
        ("i32", np.int32, "mul", "add"),
        ("i16", np.int16, "xor", "sub"),
    ],
)
@pytest.mark.parametrize("count", [4, 16])
def test_they_are_a_vector(type: str, dtype: type, product: str, operation: str, count: int) -> None:
    start = "0.0" if type in ("float", "double") else "0"
    text = loop(list(range(count)), start, type=type, product=product, operation=operation)
    assert same(text, count, dtype) == 1
    assert f"phi <{count} x {type}>" in write_module(made(text)[0])
    assert text.count("load") == 2 * count and write_module(made(text)[0]).count("load") == 2


def test_in_any_order_and_on_either_side() -> None:
    assert same(loop([2, 0, 3, 1], operands="%m{n}, %r{n}"), 4) == 1
    assert same(loop([2, 0, 3, 1], "%c"), 4) == 1
    # A difference from what is loaded is no running value.
    assert same(loop([0, 1, 2, 3], operands="%m{n}, %r{n}", operation="fsub"), 4) == 0


def test_what_is_left_of_them_stays() -> None:
    text = loop(list(range(14)))
    assert same(text, 14) == 2
    text = write_module(made(text)[0])
    assert "phi <8 x float>" in text and "phi <4 x float>" in text and text.count("%r") > 4


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # The elements of one are not those behind another's, or are loaded with another type.
        ("%there, i64 8", "%there, i64 12"),
        ("%a2 = load float", "%a2 = load volatile float"),
        # Another operation, with other promises; something else in the loop uses a running value or a product.
        ("%u2 = fadd", "%u2 = fsub"),
        ("%u2 = fadd", "%u2 = fadd nnan"),
        ("fadd float %r2, %m2", "fadd float %m2, %m2"),
        ("fadd float %r3, %m3", "fadd float %r3, %r2"),
        ("fadd float %r3, %m3", "fadd float %r3, %m2"),
        ("  %next =", "  store float %r1, ptr %out, align 4\n  %next ="),
        # It is not known how often.
        ("  %next =", "  call void @g()\n  %next ="),
    ],
)
def test_others_stay(old: str, new: str) -> None:
    text = loop([0, 1, 2, 3])
    assert text.count(old) == 1 and made(text)[1] == 1
    assert made(text.replace(old, new) + "\ndeclare void @g()\n")[1] == 0


def test_what_all_share_is_in_each_lane() -> None:
    text = loop([0, 1, 2, 3])
    for n in range(4):
        text = text.replace(f"fmul float %a{n}, %b{n}", f"fmul float %a{n}, %c")
    assert same(text, 4) == 1
    # One element is loaded for all, and goes on being loaded.
    text = loop([0, 1, 2, 3])
    for n in range(4):
        text = text.replace(f"fadd float %r{n}, %m{n}", f"fadd float %r{n}, %b{n}")
    text = text.replace("%u3 = fadd", "%extra = fadd float %b3, %b3\n  %u3 = fadd")
    assert same(text, 4) == 1


def test_values_behind_an_update_are_handed_on() -> None:
    """Of a loop that is tested at its end."""
    text = loop([0, 1, 2, 3])
    for n in range(4):
        text = text.replace(f"%c{n} = phi float [ %r{n}, %head ]", f"%c{n} = phi float [ %u{n}, %body ]")
    text = text.replace(
        "  %more = icmp ult i64 %k, %n\n  br i1 %more, label %body, label %done", "  br label %body"
    )
    text = text.replace(
        "  br label %head\ndone",
        "  %more = icmp ult i64 %next, %n\n  br i1 %more, label %head, label %done\ndone",
    )
    assert same(text, 4) == 1


@given(st.lists(st.integers(0, 9), min_size=4, max_size=9, unique=True))
def test_any_elements(offsets: list[int]) -> None:
    same(loop(offsets), max(offsets) + 1)


def by_hand(a, b):
    r0 = r1 = r2 = r3 = 0.0
    for i in range(0, a.size // 4 * 4, 4):
        r0 += a[i] * b[i]
        r1 += a[i + 1] * b[i + 1]
        r2 += a[i + 2] * b[i + 2]
        r3 += a[i + 3] * b[i + 3]
    return r0, r1, r2, r3


@pytest.mark.optimized
def test_by_hand_and_in_scalar_products() -> None:
    random = np.random.default_rng(3)
    a, b = random.random((2, 103))
    compiled = weft.jit(by_hand)
    assert compiled(a, b) == by_hand(a, b)
    (text,) = compiled.inspect_llvm().values()
    assert "phi <4 x double>" in text
    product = weft.jit(scalar_product)
    assert np.isclose(product(a, b), a @ b)
    (text,) = product.inspect_llvm().values()
    assert "phi <16 x double>" in text


def scalar_product(a, b):
    return np.dot(a, b)


@pytest.mark.parametrize(
    ("dtype", "fastmath"),
    [(np.float32, True), (np.float64, False), (np.complex128, False), (np.int64, False)],
)
def test_matrices_times_vectors(dtype: type, fastmath: bool) -> None:
    compiled = weft.jit(times, fastmath=fastmath)
    random = np.random.default_rng(3)
    for rows, terms in ((0, 5), (5, 0), (3, 3), (9, 15), (4, 16), (7, 40), (33, 100)):
        a, x = (random.integers(-9, 9, shape).astype(dtype) for shape in ((rows, 2 * terms), terms))
        assert np.array_equal(compiled(a[:, :terms], x), a[:, :terms] @ x)
        assert np.array_equal(compiled(a[:, ::2], x), a[:, ::2] @ x)


def times(a, x):
    return a @ x
