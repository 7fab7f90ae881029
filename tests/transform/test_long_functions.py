"""In functions of many loops, passes that change none of them look at the function as often as in short ones."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from weft.ir import Function
from weft.ir.reader import read_module
from weft.machine.targets import AVX2
from weft.target import definitions
from weft.target.rewrites import carried_choices, carried_last
from weft.transform.loops import counter_banks, guard_bounds

FILLED = """
  br label %head{k}
head{k}:
  %i{k} = phi i64 [ 0, %{before} ], [ %next{k}, %{latch} ]
  %more{k} = icmp ult i64 %i{k}, %n
  br i1 %more{k}, label %body{k}, label %done{k}
body{k}:
  %place{k} = getelementptr double, ptr %a, i64 %i{k}
  store double %x, ptr %place{k}, align 8
  %next{k} = add nuw nsw i64 %i{k}, 1
  br label %head{k}
done{k}:"""


def filled(loops: int) -> Function:
    """A function that fills an array time and again."""
    parts = [
        FILLED.format(k=k, before=f"done{k - 1}" if k else "entry", latch=f"body{k}") for k in range(loops)
    ]
    text = f"define void @f(ptr %a, i64 %n, double %x) {{\nentry:{''.join(parts)}\n  ret void\n}}\n"
    return read_module(text).functions["f"]


def asked(of: object, name: str, run: Callable[[], object]) -> int:
    """How often a module's function is called meanwhile."""
    counts: Counter[str] = Counter()
    function = getattr(of, name)

    def counted(*args: object) -> object:
        counts[name] += 1
        return function(*args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(of, name, counted)
        run()
    return counts[name]


@pytest.mark.parametrize("loops", [2, 30])
def test_control_flow_is_read_once_where_no_guard_is_a_bound(loops: int) -> None:
    function = filled(loops)
    assert asked(guard_bounds, "cfg_of", lambda: guard_bounds.bound_guards(function)) == 1


@pytest.mark.parametrize("loops", [2, 30])
def test_no_ranges_are_looked_for_where_nothing_is_counted(loops: int) -> None:
    function = filled(loops)
    assert asked(counter_banks, "ranges_of", lambda: counter_banks.bank_counters(function)) == 0


ADDED = """
  br label %head{k}
head{k}:
  %i{k} = phi i64 [ 0, %{before} ], [ %next{k}, %head{k} ]
  %s{k} = phi i32 [ 0, %{before} ], [ %t{k}, %head{k} ]
  %m{k} = call i32 @llvm.smin.i32(i32 %s{k}, i32 %x)
  %t{k} = add i32 %m{k}, 3
  %y{k} = fadd fast double %z, %z
  %next{k} = add nuw nsw i64 %i{k}, 1
  %more{k} = icmp ult i64 %next{k}, %n
  br i1 %more{k}, label %head{k}, label %done{k}
done{k}:"""


class Definitions(dict[str, tuple[int, str]]):
    """What lines make, which counts how often all of it is gone through."""

    read = 0

    def items(self) -> Any:
        Definitions.read += 1
        return super().items()


@pytest.mark.parametrize("change", [carried_choices.with_carried_choices, carried_last.with_carried_last])
def test_loops_of_one_block_are_read_by_themselves(
    change: Callable[..., str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    of = definitions.FunctionLines.of

    def counting(text: str) -> definitions.FunctionLines:
        made = of(text)
        return definitions.FunctionLines(made.lines, made.blocks, Definitions(made.defined))

    monkeypatch.setattr(definitions.FunctionLines, "of", counting)
    parts = [ADDED.format(k=k, before=f"done{k - 1}" if k else "entry") for k in range(30)]
    text = f"define void @f(i64 %n, i32 %x, double %z) {{\nentry:{''.join(parts)}\n  ret void\n}}\n"
    change(text, AVX2)
    assert Definitions.read == 0
