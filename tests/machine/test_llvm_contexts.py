"""Modules of LLVM are given back before the contexts that they are in."""

import gc
from collections.abc import Callable

import llvmlite.binding as llvm
import pytest
from llvmlite.binding.context import ContextRef

from weft.machine.llvm_contexts import parsed_alone, parsed_within

TEXT = "define i32 @f(i32 %x) {\n  ret i32 %x\n}\n"


class Held:
    """What refers to itself, as errors do by way of the frames that they went through."""

    def __init__(self, *modules: object) -> None:
        self.me, self.modules = self, modules


def alone() -> list[object]:
    return [parsed_alone(llvm.parse_assembly, TEXT)]


def together() -> list[object]:
    context = llvm.create_context()
    return [parsed_within(context, llvm.parse_assembly, TEXT) for _ in range(3)]


@pytest.mark.parametrize("modules", [alone, together])
def test_what_is_garbage_together_goes_in_order(
    modules: Callable[[], list[object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    gone: list[str] = []
    # Nothing is given back: out of order, that would end the process.
    monkeypatch.setattr(llvm.ModuleRef, "_dispose", lambda self: gone.append("module"))
    monkeypatch.setattr(ContextRef, "_dispose", lambda self: gone.append("context"))
    held = Held(*(made := modules()))
    count = len(made)
    del held, made
    gc.collect()
    assert gone == ["module"] * count + ["context"]
