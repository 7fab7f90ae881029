"""Sums of what is looked up run in lanes of LLVM's vectorizer, the last ones under a mask (`masked_sums`)."""

import itertools

import numpy as np
import pytest

import weft
from transform.test_sums_in_fours import SUM, run, sums, sums_in_a_loop
from weft import cuda
from weft.interp import Memory, Program, run_function
from weft.ir import Module
from weft.ir.loop_metadata import is_masked, is_scalar
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.machine.targets import AVX2, AVX512
from weft.transform.loops.alone import prepare_alone
from weft.transform.loops.masked_sums import add_under_masks

KNOWN = SUM.replace("i64 %n, double", "i64 range(i64 0, 2147483648) %n, double")
PLACES = """  %base = getelementptr double, ptr %a, i64 %back
  %place = getelementptr double, ptr %base, i64 %wide
"""
TWICE = KNOWN.replace("  %index = add i64 %wide, %back\n", "").replace(
    "  %place = getelementptr double, ptr %a, i64 %index\n", PLACES
)


def made(text: str) -> tuple[Module, int]:
    module = read_module(text)
    return module, len(add_under_masks(module.functions["f"], lambda loop, view: False))


def marked(module: Module) -> bool:
    ends = [block.terminator for block in module.functions["f"].blocks]
    found = [end for end in ends if is_masked(end)]
    assert not any(map(is_scalar, found))
    return bool(found)


@pytest.mark.parametrize("text", [KNOWN, TWICE], ids=["a sum", "two places"])
def test_places_are_computed_in_32_bits(text: str) -> None:
    module, count = made(text)
    assert count == 1 and marked(module)
    verify(module)
    assert "add nsw i32 %j" in write_module(module)
    plain = read_module(text)
    random = np.random.default_rng(7)
    for size in range(12):
        indices = random.integers(-5, 5, size + 1).tolist()
        assert run(module, indices, 0, size) == run(plain, indices, 0, size)


def test_they_are_not_where_more_elements_may_be() -> None:
    for text in (
        SUM,
        KNOWN.replace("2147483648", "2147483649"),
        KNOWN.replace("range(i64 0", "range(i64 -1"),
    ):
        module, count = made(text)
        assert count == 1 and marked(module)
        assert "add nsw i32" not in write_module(module)


def test_the_greatest_index_and_length_meet_no_wrap_around() -> None:
    """An index far below zero, in an array of as many elements as 32 bits say: it is accessed near its end."""
    module, _ = made(KNOWN)
    plain = read_module(KNOWN)
    memory = Memory()
    values, most = np.arange(4.0), (1 << 31) - 1
    last = memory.map_array(values)
    first = last - 8 * (most - 4)
    for j in (-1, -2, -4):
        array = np.array([j], np.int32)
        arguments = [memory.map_array(array), 0, 1, first, most, 0.0]
        found = [
            float(run_function(Program(m), "f", arguments, 1, memory=memory).data.view(np.float64)[0])
            for m in (module, plain)
        ]
        assert found == [values[j], values[j]]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("fadd fast", "fadd"),  # the order of additions counts
        ("%sum = fadd", "store double %x, ptr %place\n  %sum = fadd"),
        ("%x = load double, ptr %place", "%y = load double, ptr %place\n  %x = frem double %y, 2.0"),
        ("%sum = fadd fast double %total, %x", "%sum = fmul fast double %total, %x"),
        (
            # LLVM would tell the user that it does not know this one.
            "%sum = fadd fast double %total, %x",
            "%less = fcmp fast olt double %x, %total\n  %sum = select i1 %less, double %x, double %total",
        ),
        ("ret double %result", "%last = sitofp i64 %k to double\n  ret double %last"),
    ],
)
def test_other_loops_stay(old: str, new: str) -> None:
    text = KNOWN.replace(old, new)
    assert text != KNOWN
    assert made(text)[1] == 0


def test_only_masks_in_registers_of_their_own_are_asked_for() -> None:
    for isa, wanted in ((AVX2, False), (AVX512, True)):
        module = read_module(KNOWN)
        prepare_alone(module.functions["f"], isa)
        assert marked(module) == wanted


@pytest.mark.spread
@pytest.mark.optimized
@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("door", ["kernel", "loop"])
@pytest.mark.parametrize("most", [2, 9, 60])
def test_short_rows(kind: type, door: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CPU", "x86-64-v4")
    random = np.random.default_rng(most)
    starts = np.concatenate(([0], np.cumsum(random.integers(0, most, 70)))).astype(np.int32)
    columns = random.integers(-50, 50, starts[-1]).astype(np.int32)
    values, x = random.normal(size=starts[-1]).astype(kind), random.normal(size=50).astype(kind)
    y = np.zeros(70, kind)
    if door == "kernel":
        compiled = cuda.jit(sums, fastmath=True, width=1)
        compiled[3, 32](starts, columns, values, x, y)
    else:
        compiled = weft.jit(sums_in_a_loop, fastmath=True, width=1)
        compiled(starts, columns, values, x, y)
    products = values.astype(np.float64) * x[columns]
    wanted = [products[a:b].sum() for a, b in itertools.pairwise(starts)]
    np.testing.assert_allclose(y, wanted, rtol=1e-5 if kind is np.float32 else 1e-12, atol=1e-5)
    assert "llvm.masked.gather.v8" in next(iter(compiled.inspect_llvm().values()))


def least_labels(starts, neighbours, labels, out):
    for v in weft.prange(out.size):
        best = labels[v]
        for k in range(starts[v], starts[v + 1]):
            best = min(best, labels[neighbours[k]])
        out[v] = best


def greatest_labels(starts, neighbours, labels, out):
    for v in weft.prange(out.size):
        best = labels[v]
        for k in range(starts[v], starts[v + 1]):
            other = labels[neighbours[k]]
            if other > best:
                best = other
        out[v] = best


def equal_labels(starts, neighbours, labels, out):
    for v in weft.prange(out.size):
        count = 0
        for k in range(starts[v], starts[v + 1]):
            if labels[neighbours[k]] == labels[v]:
                count += 1
        out[v] = count


@pytest.mark.optimized
@pytest.mark.parametrize("kind", [np.int32, np.int64, np.float32])
@pytest.mark.parametrize(
    ("function", "fold"),
    [
        (least_labels, lambda own, others: min([own, *others])),
        (greatest_labels, lambda own, others: max([own, *others])),
        (equal_labels, lambda own, others: sum(other == own for other in others)),
    ],
)
def test_integers_and_extrema(kind: type, function, fold, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CPU", "x86-64-v4")
    random = np.random.default_rng(11)
    starts = np.concatenate(([0], np.cumsum(random.integers(0, 20, 60)))).astype(np.int32)
    neighbours = random.integers(-60, 60, starts[-1]).astype(np.int32)
    labels, out = random.integers(-9, 9, 60).astype(kind), np.zeros(60, kind)
    compiled = weft.jit(function, fastmath=True, width=1)
    compiled(starts, neighbours, labels, out)
    rows = itertools.pairwise(starts)
    wanted = [fold(labels[v], labels[neighbours[a:b]]) for v, (a, b) in enumerate(rows)]
    assert out.tolist() == wanted
    assert "llvm.masked.gather.v8" in next(iter(compiled.inspect_llvm().values()))


def test_choices_that_have_lost_their_flags_are_extrema() -> None:
    chosen = "%less = fcmp fast olt double %x, %total\n  %sum = select i1 %less, double %x, double %total"
    text = KNOWN.replace("%sum = fadd fast double %total, %x", chosen)
    module, plain = read_module(text), read_module(text)
    prepare_alone(module.functions["f"], AVX512)
    assert marked(module)
    assert run(module, [3, 1, -1, 4], 0, 4, 90.0) == run(plain, [3, 1, -1, 4], 0, 4, 90.0)
