"""Whether a number is one of a few is computed in loops along rows, and functions return what they returned."""

import numpy as np
import pytest

import weft
from weft.interp import Memory, Program, run_function
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.transform.loops.set_tests import compute_set_tests

COUNTED = """
define i64 @f(ptr %x) {{
entry:
  br label %head
head:
  %k = phi i64 [ 0, %entry ], [ %next, %rest ]
  %n = phi i64 [ 0, %entry ], [ %m, %rest ]
  %more = icmp slt i64 %k, 64
  br i1 %more, label %body, label %done
body:
  %at = getelementptr i8, ptr %x, i64 {index}
  %c = load i8, ptr %at
  switch i8 %c, label %rest [ {cases} ]
some:
  {some}
  br label %rest
rest:
  %m = phi i64 {arriving}
  %next = add nuw nsw i64 %k, 1
  br label %head
done:
  ret i64 %n
}}
"""


def text(numbers: tuple[int, ...], index: str = "%k", some: str = "%one = add i64 %n, 1") -> str:
    cases = " ".join(f"i8 {number}, label %some" for number in numbers)
    return COUNTED.format(cases=cases, index=index, some=some, arriving="[ %n, %body ], [ %one, %some ]")


def count(program: str, values: np.ndarray) -> int:
    memory = Memory()
    made = run_function(Program(read_module(program)), "f", [memory.map_array(values)], 1, memory=memory)
    return int(made.data[0])


@pytest.mark.parametrize(
    "numbers",
    [(97,), (97, 101, 105), (65, 69, 97, 101), (0, -1, 127, -128), tuple(range(-8, 8)), (1, 2, 4, 7)],
)
def test_what_is_counted_stays(numbers: tuple[int, ...]) -> None:
    module = read_module(text(numbers))
    assert compute_set_tests(module.functions["f"]) == 1
    verify(module)
    made = write_module(module)
    assert "switch" not in made and "select" in made
    for values in np.arange(256, dtype=np.uint8).reshape(4, 64):
        assert count(made, values) == count(text(numbers), values)


@pytest.mark.parametrize(
    "program",
    [
        # Many cases, cases that store, and a place that is looked up.
        text(tuple(range(17))),
        text((1, 2), some="%one = add i64 %n, 1\n  store i8 3, ptr %at"),
        text((1, 2), some="%one = sdiv i64 %n, %k"),
        text((1, 2), index="%c.at").replace("  %at = ", "  %c.at = mul i64 %k, %k\n  %at = "),
        text((1, 2)).replace("i8 2, label %some", "i8 2, label %done"),
    ],
)
def test_others_stay(program: str) -> None:
    module = read_module(program)
    before = write_module(module)
    assert compute_set_tests(module.functions["f"]) == 0
    assert write_module(module) == before


def vowels(letters):
    n = 0
    for i in range(letters.size):
        c = letters[i] | 32
        if c == 97 or c == 101 or c == 105 or c == 111 or c == 117:
            n += 1
    return n


@pytest.mark.optimized
@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3"])
def test_vowels_are_counted_in_vectors(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    compiled = weft.jit(vowels)
    for size in (0, 1, 7, 1000):
        letters = np.random.default_rng(size).integers(0, 256, size).astype(np.uint8)
        assert compiled(letters) == sum(chr(c) in "aeiouAEIOU" for c in letters)
    code = str(compiled.inspect_llvm())
    assert " switch " not in code and "icmp eq <" in code
