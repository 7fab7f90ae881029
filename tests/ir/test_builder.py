"""What the builder makes is well-formed, typed as LLVM types it, and stands where the builder points."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from weft.ir import Builder, DebugLoc, Function, MDNode, Module, const_float, const_int
from weft.ir.builder import address_space
from weft.ir.constants import ConstInt, Undef
from weft.ir.types import F32, F64, I1, I8, I32, I64, PTR, VOID, FunctionType, StructType, VectorType, pointer
from weft.ir.verifier import verify
from weft.ir.writer import write_module


@pytest.fixture
def module() -> Module:
    module = Module()
    fn_type = FunctionType(I32, (I32, F32, PTR, VectorType(I32, 4), StructType((I8, F32))))
    module.add_function(Function("f", fn_type, ("i", "x", "p", "v", "s")))
    return module


def test_everything_built_is_accepted(module: Module, normal_form: Callable[[str], str]) -> None:
    function = module.functions["f"]
    i, x, p, v, s = function.args
    entry, loop, done = (function.add_block(n) for n in ("entry", "loop", "done"))
    b = Builder(entry)
    callee = module.declare("g", FunctionType(F32, (F32,)), ("nounwind",))
    slot = b.alloca(I32, align=4, name="slot")
    b.store(b.binary("add", i, const_int(-1, I32), ("nsw",)), slot, align=4)
    loaded = b.load(I32, slot, align=4, volatile=True)
    b.fence("seq_cst")
    b.atomic_rmw("add", slot, loaded)
    b.extract_value(b.cmpxchg(slot, loaded, i, "acq_rel", "acquire"), (1,))
    b.gep(StructType((I8, I32)), p, (const_int(1), const_int(1, I32)), ("inbounds",))
    addresses = b.gep(I32, p, (v,))
    assert addresses.type == VectorType(PTR, 4)
    assert b.icmp("slt", v, v).type == VectorType(I1, 4)
    assert b.shuffle(v, Undef(v.type), (0, 7, -1)).type == VectorType(I32, 3)
    b.insert_element(v, b.extract_element(v, const_int(2)), const_int(0))
    b.insert_value(s, b.call(callee, (x,), flags=("nnan",)), (1,))
    b.cast("bitcast", b.unary("fneg", x), I32)
    small = b.fcmp("olt", x, const_float(0.5, F32))
    b.select(small, x, const_float(1.0, F32))
    b.cond_br(small, loop, done)
    b.at_end(loop)
    phi = b.phi(I32, "n")
    following = b.binary("add", phi, const_int(1, I32))
    b.switch(following, done, [(-1, loop), (7, done)])
    phi.add_incoming(i, entry)
    phi.add_incoming(following, loop)
    b.at_end(done)
    b.ret(i)
    verify(module)
    normal_form(write_module(module, plain=True))


def test_insertion_points(module: Module) -> None:
    function = module.functions["f"]
    block = function.add_block("b")
    end = Builder(block).ret(function.args[0])
    first = Builder(before=end).binary("add", function.args[0], function.args[0], name="first")
    phi = Builder(block).phi(I32, "phi")
    after = Builder.after_phis(block).binary("mul", phi, first, name="after")
    assert block.instructions == [phi, after, first, end]
    assert Builder.after_phis(function.add_block()).before is None


def test_location_and_total_are_stamped_on_what_is_built(module: Module) -> None:
    function = module.functions["f"]
    b = Builder(function.add_block())
    b.loc = DebugLoc(3, 1, MDNode("DISubprogram"))
    b.total = True
    add = b.binary("add", function.args[0], function.args[0])
    assert add.loc is b.loc
    assert add.total
    assert not b.phi(I32).total


def test_switch_cases_are_kept_unsigned(module: Module) -> None:
    function = module.functions["f"]
    block = function.add_block()
    switch = Builder(block).switch(function.args[0], block, [(-1, block), (5, block)])
    assert switch.attrs["cases"] == (0xFFFFFFFF, 5)


def test_constants_wrap_and_round() -> None:
    assert const_int(-1, I8) == ConstInt(I8, 255)
    assert const_int(-1, I8).signed == -1
    assert const_float(0.1, F32).value == pytest.approx(0.1)
    assert const_float(0.1, F32).value != 0.1
    assert const_float(1e300, F32).value == float("inf")
    assert const_float(0.1, F64).value == 0.1


def test_wrong_kinds_are_refused() -> None:
    with pytest.raises(AssertionError, match="float is no integer type"):
        const_int(1, F32)
    with pytest.raises(AssertionError, match="has no member"):
        Builder().extract_value(Undef(StructType((I8,))), (1,))
    with pytest.raises(AssertionError, match="no insertion point"):
        Builder().ret()


def test_address_space_of_pointers_and_vectors_of_them() -> None:
    assert address_space(Undef(PTR)) == 0
    assert address_space(Undef(VectorType(pointer(3), 4))) == 3


def test_declaration_is_made_once(module: Module) -> None:
    fn_type = FunctionType(VOID, (I64,))
    assert module.declare("h", fn_type) is module.declare("h", fn_type)
    with pytest.raises(AssertionError, match="@h is void"):
        module.declare("h", FunctionType(VOID, ()))
