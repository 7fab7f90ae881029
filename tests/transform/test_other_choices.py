"""What is left of two numbers when one is chosen is the other one, chosen the other way round."""

import numpy as np
import pytest

from weft import cuda
from weft.interp import Memory, Program, run_function
from weft.ir import Module
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.transform.numbers.other_choices import choose_others

TREE = """
  %twice = shl nsw i64 %n, 1
  %right = add nsw i64 %twice, 2
  %left = or disjoint i64 %twice, 1
  %near = select i1 %c, i64 %right, i64 %left
  %fourfold = shl i64 %n, 2
  %both = or disjoint i64 %fourfold, 3
"""
PAIR = """
  %near = select i1 %c, i64 %n, i64 %m
  %both = add i64 %m, %n
"""
PRODUCTS = """
  %one = mul i64 %n, 5
  %less = sub i64 %m, %n
  %near = select i1 %c, i64 %one, i64 %less
  %fourfold = shl i64 %n, 2
  %both = add i64 %fourfold, %m
"""


def program(numbers: str, difference: str = "sub nsw i64 %both, %near") -> str:
    return f"define i64 @f(i64 %n, i64 %m, i1 %c) {{{numbers}  %far = {difference}\n  ret i64 %far\n}}\n"


def result_of(module: Module, *arguments: int) -> int:
    return int(run_function(Program(module), "f", arguments, 1, memory=Memory()).data[0])


@pytest.mark.parametrize("numbers", [TREE, PAIR, PRODUCTS], ids=["tree", "pair", "products"])
def test_the_other_one_is_chosen(numbers: str) -> None:
    before, module = read_module(program(numbers, "sub i64 %both, %near")), read_module(program(numbers))
    assert choose_others(module.functions["f"]) == 1
    verify(module)
    text = write_module(module)
    assert "%far" not in text and " nsw " not in text and text.count("= select") == 2
    for n, m in ((0, 0), (7, 3), (-5, 12), (1 << 62, -(1 << 62))):
        for c in (0, 1):
            given = [result_of(each, n, m, c) for each in (before, module)]
            assert given[0] == given[1]


@pytest.mark.parametrize(
    "numbers",
    [
        TREE.replace("disjoint i64 %fourfold, 3", "disjoint i64 %fourfold, 2"),
        TREE.replace("shl i64 %n, 2", "shl i64 %m, 2"),
        TREE.replace("or disjoint i64 %twice, 1", "or i64 %twice, 4"),
        PAIR.replace("add", "xor"),
        # What is chosen now depends on a number that may be poison, and that neither the sum nor the other one has.
        "  %less = sub i64 %n, %m\n  %near = select i1 %c, i64 %less, i64 %m\n  %both = add i64 %n, 0\n",
    ],
    ids=["another-sum", "of-others", "bits", "xor", "poison"],
)
def test_other_differences_stay(numbers: str) -> None:
    module = read_module(program(numbers))
    before = write_module(module)
    assert choose_others(module.functions["f"]) == 0
    assert write_module(module) == before


@cuda.jit
def walk(weights, found):
    i = cuda.grid(1)
    if i < found.size:
        nodes = cuda.local.array(32, np.int32)
        total = np.int32(0)
        node = 0
        top = 0
        while True:
            if node < weights.size:
                total += weights[node]
                near = 2 * node + 2 if (total ^ i) & 1 else 2 * node + 1
                nodes[top] = 4 * node + 3 - near
                top += 1
                node = near
            else:
                if top == 0:
                    break
                top -= 1
                node = nodes[top]
        found[i] = total


def test_nodes_of_a_walk_are_not_asked_for_their_sign() -> None:
    weights = np.random.default_rng(1).integers(0, 100, 63).astype(np.int32)
    found, kernel = np.zeros(100, np.int32), cuda.jit(walk.py_func, width=8)
    kernel[1, 128](weights, found)
    assert found.tolist() == [weights.sum()] * 100
    (text,) = kernel.inspect_llvm().values()
    # Nodes have 32 bits, as those on the stack.
    assert "<8 x i64> %node" not in text and "phi <8 x i64>" not in text
    kernel = cuda.jit(walk.py_func, width=8, without=("known-numbers",))
    kernel[1, 128](weights, found)
    (text,) = kernel.inspect_llvm().values()
    assert "phi <8 x i64>" in text
