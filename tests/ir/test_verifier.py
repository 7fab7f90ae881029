"""One broken function for each rule; the message names the rule and shows the instruction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from weft.diag.errors import VerifyError
from weft.ir import BasicBlock, DebugLoc, Function, Instruction, MDNode, MDString, Module, const_int
from weft.ir.constants import TRUE, ConstFloat, ConstInt, Undef
from weft.ir.reader import read_module
from weft.ir.types import F32, I1, I8, I32, I64, PTR, VOID, FunctionType, StructType, VectorType, pointer
from weft.ir.verifier import problems_of, verify

SOUND = """\
declare i32 @callee(i32, float)
declare i64 @weft.group.id(i32)
define i32 @f(i32 %a, float %x, ptr %p, <4 x i32> %v, i1 %c) {
entry:
  %sum = add i32 %a, 1
  %call = call i32 @callee(i32 %sum, float %x)
  br i1 %c, label %left, label %right
left:
  %l = mul i32 %sum, %call
  br label %join
right:
  switch i32 %sum, label %join [
    i32 4, label %join
    i32 5, label %join
  ]
join:
  %phi = phi i32 [ %l, %left ], [ %a, %right ], [ %a, %right ], [ %a, %right ]
  %last = add i32 %phi, %call
  ret i32 %last
}
"""
_CMPXCHG = {"success": "seq_cst", "failure": "seq_cst"}


class Case:
    """The function above, with its parts at hand."""

    def __init__(self) -> None:
        self.module = read_module(SOUND)
        self.f = self.module.functions["f"]
        self.entry, self.left, self.right, self.join = self.f.blocks
        self.a, self.x, self.p, self.v, self.c = self.f.args
        self.sum, self.call, self.branch = self.entry.instructions
        self.l = self.left.instructions[0]
        self.switch = self.right.terminator
        self.phi, self.last, self.ret = self.join.instructions

    def put(self, op: str, type: Any, *operands: Any, **parts: Any) -> Instruction:
        """An instruction before the return."""
        return self.join.insert(2, Instruction(op, type, operands, **parts))


def expect(case: Case, message: str) -> None:
    found = [str(p) for p in problems_of(case.f)]
    assert any(message in text for text in found), found


def test_sound_function_has_no_problem() -> None:
    case = Case()
    assert problems_of(case.f) == []
    verify(case.module)


def structure_no_terminator(t: Case) -> str:
    t.left.terminator.erase()
    return "the block does not end with a terminator: %l = mul i32 %sum, %call"


def structure_empty_block(t: Case) -> str:
    t.f.add_block("hollow")
    return "@f, %hollow: the block is empty"


def structure_two_terminators(t: Case) -> str:
    t.join.append(Instruction("unreachable", VOID))
    return "a terminator stands before the end of the block: ret i32 %last"


def structure_late_phi(t: Case) -> str:
    t.phi.detach()
    t.join.insert(1, t.phi)
    return "a φ stands behind other instructions"


def structure_foreign_block(t: Case) -> str:
    t.left.terminator.set_block(0, BasicBlock("elsewhere"))
    return "a block of another function is referred to"


def structure_two_places(t: Case) -> str:
    t.left.instructions.insert(0, t.l)
    return "the instruction stands at 2 places"


def structure_lost_instruction(t: Case) -> str:
    t.l.block = t.right
    return "the instruction does not know its block"


def structure_lost_block(t: Case) -> str:
    t.left.function = None
    return "@f, %left: the block does not know its function"


def structure_entry_predecessor(t: Case) -> str:
    t.left.terminator.set_block(0, t.entry)
    return "the entry block has a predecessor"


def structure_phi_misses_edge(t: Case) -> str:
    t.phi.remove_incoming(0)
    return "1 edges from %left, 0 in the φ"


def structure_phi_counts_edges(t: Case) -> str:
    t.phi.remove_incoming(3)
    return "3 edges from %right, 2 in the φ"


def structure_phi_names_stranger(t: Case) -> str:
    t.phi.add_incoming(t.a, t.entry)
    return "%entry is no predecessor of %join"


def structure_phi_disagrees(t: Case) -> str:
    t.phi.set_operand(2, t.sum)
    return "two values on the edges from %right"


def structure_phi_arity(t: Case) -> str:
    t.phi.operands.pop().drop_user(t.phi)
    return "as many values as incoming blocks"


def structure_foreign_operand(t: Case) -> str:
    t.last.set_operand(0, Case().a)
    return "an operand is not defined in the function"


def structure_erased_operand(t: Case) -> str:
    t.l.detach()
    return "an operand is not defined in the function"


def structure_use_list(t: Case) -> str:
    t.last.operands[0] = t.a
    return "the use list of <Argument i32 %a> is wrong"


def structure_foreign_predicate(t: Case) -> str:
    t.left.set_predicate(Case().c)
    return "the predicate is not defined in the function"


def structure_arguments(t: Case) -> str:
    t.f.args.pop()
    return "the arguments do not fit the function's type"


def dominance_in_block(t: Case) -> str:
    t.sum.detach()
    t.entry.insert(1, t.sum)
    return "%sum does not dominate this use: %call = call i32 @callee(i32 %sum, float %x)"


def dominance_across_blocks(t: Case) -> str:
    t.last.set_operand(1, t.l)
    return "%l does not dominate this use: %last = add i32 %phi, %l"


def dominance_phi(t: Case) -> str:
    for i in (1, 2, 3):
        t.phi.set_operand(i, t.l)
    return "%l is not defined at the end of %right"


def dominance_shadow(t: Case) -> str:
    t.phi.set_shadow(t.last)
    return "the shadow %last is not defined above the φ's block"


def dominance_predicate(t: Case) -> str:
    t.right.set_predicate(t.left.insert(0, Instruction("xor", I1, (t.c, TRUE), name="n", total=True)))
    return "@f, %right: the predicate %n does not dominate the block"


def dominance_guard(t: Case) -> str:
    late = t.join.insert(2, Instruction("xor", I1, (t.c, TRUE), name="n"))
    t.last.set_guard(late)
    return "%n does not dominate this use: %last = guard(%n) add"


def dialect_predicate_type(t: Case) -> str:
    t.left.set_predicate(t.a)
    return "the predicate has type i32, not i1"


def dialect_predicate_behind_partial(t: Case) -> str:
    t.left.set_predicate(t.left.insert(1, Instruction("xor", I1, (t.c, TRUE), name="n", total=True)))
    return "everything up to the definition of the predicate %n has to be total: %l = mul"


def dialect_predicate_is_partial(t: Case) -> str:
    t.left.set_predicate(t.left.insert(0, Instruction("xor", I1, (t.c, TRUE), name="n")))
    return "has to be total: %n = xor i1 %c, true"


def dialect_total_phi(t: Case) -> str:
    t.phi.total = True
    return "a φ cannot be total"


def dialect_total_terminator(t: Case) -> str:
    t.branch.total = True
    return "a terminator cannot be total: total br i1 %c"


def dialect_total_mask(t: Case) -> str:
    mask = t.module.declare("weft.mask", FunctionType(I1, ()))
    t.put("call", I1, mask, attrs={"fn_type": mask.fn_type}, total=True)
    return "weft.mask() cannot be total"


def dialect_shadow_place(t: Case) -> str:
    t.last.set_shadow(t.a)
    return "only a φ has a shadow"


def dialect_shadow_type(t: Case) -> str:
    t.phi.set_shadow(TRUE)
    return "the shadow has type i1, not i32"


def dialect_guarded_phi(t: Case) -> str:
    t.phi.set_guard(t.c)
    return "a φ cannot have a guard"


def dialect_guard_type(t: Case) -> str:
    t.last.set_guard(t.a)
    return "the guard has type i32, not i1"


def type_binary_operands(t: Case) -> str:
    t.last.set_operand(0, const_int(1, I64))
    return "the second operand has type i32, not i64"


def type_binary_kind(t: Case) -> str:
    t.put("fadd", I32, t.a, t.a)
    return "fadd needs floats, not i32"


def type_binary_integer(t: Case) -> str:
    t.put("add", F32, t.x, t.x)
    return "add needs integers, not float"


def type_binary_result(t: Case) -> str:
    t.put("add", I64, t.a, t.a)
    return "the result has type i64, not i32"


def type_fneg(t: Case) -> str:
    t.put("fneg", I32, t.a)
    return "fneg needs a float"


def type_flag(t: Case) -> str:
    t.put("xor", I32, t.a, t.a, flags=("nsw",))
    return "xor has no flag nsw"


def type_operand_count(t: Case) -> str:
    t.put("select", I32, t.c, t.a)
    return "select takes 3 operands, not 2"


def type_compare_predicate(t: Case) -> str:
    t.put("icmp", I1, t.a, t.a, attrs={"predicate": "olt"})
    return "'olt' is no predicate of icmp"


def type_compare_kind(t: Case) -> str:
    t.put("fcmp", I1, t.a, t.a, attrs={"predicate": "olt"})
    return "fcmp needs floats, not i32"


def type_compare_result(t: Case) -> str:
    t.put("icmp", I1, t.v, t.v, attrs={"predicate": "eq"})
    return "the result has type i1, not <4 x i1>"


def type_select_condition(t: Case) -> str:
    t.put("select", I32, Undef(VectorType(I1, 4)), t.a, t.a)
    return "the condition has type <4 x i1>, not i1"


def type_select_sides(t: Case) -> str:
    t.put("select", I32, t.c, t.a, t.x)
    return "the third operand has type float, not i32"


def type_phi_value(t: Case) -> str:
    t.phi.set_operand(0, t.x)
    return "%x has type float, not i32"


def type_cast_kind(t: Case) -> str:
    t.put("sitofp", I32, t.x)
    return "sitofp does not go from float to i32"


def type_cast_narrowing(t: Case) -> str:
    t.put("trunc", I64, t.a)
    return "trunc goes to a narrower type"


def type_cast_widening(t: Case) -> str:
    t.put("zext", I32, t.a)
    return "zext goes to a wider type"


def type_cast_lanes(t: Case) -> str:
    t.put("sext", I64, t.v)
    return "does not change the number of lanes"


def type_bitcast_size(t: Case) -> str:
    t.put("bitcast", I64, t.a)
    return "bitcast keeps the number of bits"


def type_bitcast_pointer(t: Case) -> str:
    t.put("bitcast", I64, t.p)
    return "bitcast does not turn ptr into i64"


def type_address_space_cast(t: Case) -> str:
    t.put("addrspacecast", PTR, t.p)
    return "another address space"


def type_gep_pointer(t: Case) -> str:
    t.put("getelementptr", I32, t.a, t.a, attrs={"source_type": I8})
    return "the first operand of getelementptr is a pointer"


def type_gep_field(t: Case) -> str:
    t.put("getelementptr", PTR, t.p, t.a, t.a, attrs={"source_type": StructType((I8, I32))})
    return "the indices do not fit { i8, i32 }"


def type_gep_result(t: Case) -> str:
    t.put("getelementptr", PTR, t.p, t.v, attrs={"source_type": I8})
    return "the result has type ptr, not <4 x ptr>"


def type_load_address(t: Case) -> str:
    t.put("load", I32, t.a)
    return "the address has type i32"


def type_load_align(t: Case) -> str:
    t.put("load", I32, t.p, attrs={"align": 3})
    return "the alignment 3 is no power of two"


def type_load_ordering(t: Case) -> str:
    t.put("load", I32, t.p, attrs={"align": 4, "ordering": "release"})
    return "release is no ordering of a load"


def type_atomic_align(t: Case) -> str:
    t.put("store", VOID, t.a, t.p, attrs={"ordering": "release"})
    return "an atomic store states its alignment"


def type_atomic_vector(t: Case) -> str:
    t.put("load", t.v.type, t.p, attrs={"align": 16, "ordering": "acquire"})
    return "cannot be accessed atomically"


def type_alloca_opaque(t: Case) -> str:
    t.put("alloca", PTR, const_int(1, I32), attrs={"allocated_type": StructType(None, name="o")})
    return "an object of type %o cannot be on the stack"


def type_alloca_space(t: Case) -> str:
    t.put("alloca", pointer(5), const_int(1, I32), attrs={"allocated_type": I8})
    return "the result has type ptr addrspace(5)"


def type_rmw_operation(t: Case) -> str:
    t.put("atomicrmw", I32, t.p, t.a, attrs={"rmw": "swap", "ordering": "seq_cst"})
    return "'swap' is no operation"


def type_rmw_kind(t: Case) -> str:
    t.put("atomicrmw", F32, t.p, t.x, attrs={"rmw": "add", "ordering": "seq_cst"})
    return "add needs an integer, not float"


def type_rmw_ordering(t: Case) -> str:
    t.put("atomicrmw", I32, t.p, t.a, attrs={"rmw": "add", "ordering": "unordered"})
    return "unordered is no ordering of atomicrmw"


def type_cmpxchg_result(t: Case) -> str:
    t.put("cmpxchg", I32, t.p, t.a, t.a, attrs=_CMPXCHG)
    return "the result has type i32"


def type_cmpxchg_failure(t: Case) -> str:
    t.put("cmpxchg", StructType((I32, I1)), t.p, t.a, t.a, attrs={**_CMPXCHG, "failure": "release"})
    return "release is no ordering of a failing cmpxchg"


def type_fence(t: Case) -> str:
    t.put("fence", VOID, attrs={"ordering": "monotonic"})
    return "monotonic is no ordering of a fence"


def type_call_count(t: Case) -> str:
    t.call.set_operands([t.sum, t.call.callee])
    return "1 arguments for 2 parameters"


def type_call_argument(t: Case) -> str:
    t.call.set_operand(1, t.a)
    return "argument 2 has type i32, not float"


def type_call_result(t: Case) -> str:
    t.put("call", F32, t.a, t.x, t.call.callee, attrs=t.call.attrs)
    return "the result has type float, not i32"


def type_call_attributes(t: Case) -> str:
    t.call.attrs["arg_attrs"] = ((),)
    return "attributes for 1 of 2 arguments"


def type_intrinsic_signature(t: Case) -> str:
    callee = t.module.functions["weft.group.id"]
    t.put("call", I32, t.a, callee, attrs={"fn_type": FunctionType(I32, (I32,))})
    return "@weft.group.id is i64 (i32), not i32 (i32)"


def type_branch_condition(t: Case) -> str:
    t.branch.set_operand(0, t.a)
    return "the condition has type i32, not i1"


def type_branch_targets(t: Case) -> str:
    t.branch.set_operands([])
    return "br has 0 conditions and 2 targets"


def type_switch_cases(t: Case) -> str:
    t.switch.attrs["cases"] = (4, 4)
    return "switch has a case twice"


def type_switch_width(t: Case) -> str:
    t.switch.attrs["cases"] = (4, 1 << 32)
    return "a case does not fit into i32"


def type_switch_targets(t: Case) -> str:
    t.switch.attrs["cases"] = (4,)
    return "switch has 1 cases and 3 targets"


def type_return(t: Case) -> str:
    t.ret.set_operand(0, t.x)
    return "the function returns i32, not float"


def type_extractvalue(t: Case) -> str:
    t.put("extractvalue", I32, Undef(StructType((I32,))), attrs={"indices": (1,)})
    return "{ i32 } has no member (1,)"


def type_insertvalue(t: Case) -> str:
    pair = StructType((I32,))
    t.put("insertvalue", pair, Undef(pair), t.x, attrs={"indices": (0,)})
    return "the value has type float, not i32"


def type_extractelement(t: Case) -> str:
    t.put("extractelement", I32, t.a, t.a)
    return "extractelement needs a vector, not i32"


def type_insertelement(t: Case) -> str:
    t.put("insertelement", t.v.type, t.v, t.x, t.a)
    return "the value has type float, not i32"


def type_shuffle_mask(t: Case) -> str:
    t.put("shufflevector", VectorType(I32, 2), t.v, t.v, attrs={"mask": (0, 8)})
    return "the mask names a lane that neither vector has"


def type_operand_is_block(t: Case) -> str:
    t.put("freeze", t.entry.type, t.entry)
    return "an operand is no value"


BROKEN = [
    f
    for name, f in list(globals().items())
    if name.startswith(("structure_", "dominance_", "dialect_", "type_"))
]


@pytest.mark.parametrize("break_rule", BROKEN, ids=lambda f: f.__name__)
def test_broken_rule_is_named(break_rule: Callable[[Case], str]) -> None:
    case = Case()
    message = break_rule(case)
    expect(case, message)
    with pytest.raises(VerifyError):
        verify(case.f)


def test_predicate_behind_total_instructions_of_its_block_is_sound() -> None:
    case = Case()
    case.l.total = True
    case.left.set_predicate(case.left.insert(1, Instruction("xor", I1, (case.c, TRUE), name="n", total=True)))
    assert problems_of(case.f) == []


def test_uses_in_unreachable_blocks_need_no_dominating_definition() -> None:
    case = Case()
    dead = case.f.add_block("dead")
    dead.append(Instruction("ret", VOID, (case.l,)))
    assert problems_of(case.f) == []


def test_every_problem_is_reported_with_the_first_source_line() -> None:
    case = Case()
    file = MDNode("DIFile", {"filename": MDString("k.py"), "directory": MDString("/src")})
    case.last.loc = DebugLoc(7, 3, MDNode("DISubprogram", {"file": file}, distinct=True))
    case.last.set_operand(0, ConstFloat.of(F32, 1.0))
    case.ret.set_operand(0, ConstInt(I8, 1))
    with pytest.raises(VerifyError) as caught:
        verify(case.module)
    text = str(caught.value)
    assert text.startswith("/src/k.py:7:3: the program is not well-formed (4 problems)")
    assert "%last = add float 1.000000e+00, %call" in text
    assert "ret i8 1" in text


def test_function_of_another_module_is_found() -> None:
    case = Case()
    case.call.set_operand(2, Case().call.callee)
    with pytest.raises(VerifyError, match="@callee is not in the module"):
        verify(case.module)


def test_module_tables_agree_with_names() -> None:
    module = Module()
    function = module.add_function(Function("f", FunctionType(VOID, ())))
    function.name = "g"
    with pytest.raises(VerifyError, match="it stands in the module as @f"):
        verify(module)
