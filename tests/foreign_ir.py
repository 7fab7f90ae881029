"""LLVM IR of any compiler in the form that analysis starts from."""

from weft.ir import Module
from weft.passes.adopt import adopt
from weft.passes.foreign import FORM
from weft.passes.foreign_unit import ForeignUnit
from weft.passes.runner import Runner
from weft.target.machine import TargetSpec
from weft.transform.boscc.insertion import Boscc, BosccMode


def canonical_module(text: str, spec: TargetSpec, filename: str = "") -> Module:
    unit = ForeignUnit(
        adopt(text, filename), "", spec, spec.isa, None, Boscc(BosccMode.OFF, spec.isa), Runner()
    )
    unit.runner.run(FORM, unit)
    return unit.module
