"""``memset`` and ``memcpy`` of stack objects with many elements become loops, which have vector forms.

    memset(above, 0, 516)          for k in range(129): above[k] = 0

A block write makes an object of each lane's own one that lies in one piece (`weft.codegen.widen.stack_objects`): its
accesses are gathers and scatters then, and the write runs lane after lane. In a loop over its elements it is none.
Those of a few bytes are written out (`weft.transform.aggregates.block_writes`).

Precondition: P-LLVM without predicates, shadows and guards. Postcondition: no block write of known size is left whose
target is an object on the stack that is else accessed element by element. A loop that was simplified and loop-closed
stays so. Preserves the program under FR.
"""

from __future__ import annotations

from weft.analysis.memory.alias import locate
from weft.ir import Builder, ConstInt, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_edit import split_block
from weft.ir.types import I64, IntType, int_type
from weft.transform.aggregates.block_writes import alignment_of, repeated, unit_of

_WRITES = ("llvm.memset.", "llvm.memcpy.")
_HARMLESS = ("llvm.lifetime.", "llvm.dbg.", *_WRITES)


def write_in_loops(function: Function) -> bool:
    """Let loops write the blocks of stack objects that are accessed by elements; whether there were any."""
    found = [(call, unit) for call in function.instructions() if (unit := _elements(call))]
    for call, unit in found:
        _write(function, call, unit)
    return bool(found)


def _elements(call: Instruction) -> int | None:
    """Bytes of the elements in which a call writes an object; None for calls that stay."""
    if call.op != "call" or not (call.callee_name or "").startswith(_WRITES):
        return None
    target, source, size, volatile = call.args
    if not isinstance(size, ConstInt) or not size.value or volatile != ConstInt(IntType(1), 0):
        return None
    assert call.block is not None and call.block.function is not None
    layout = call.block.function.layout
    base = locate(target, layout).base
    if not isinstance(base, Instruction) or base.op != "alloca":
        return None
    unit = unit_of(size.value, [target, source] if source.type.is_pointer else [target], layout)
    work: list[Value] = [base]
    for pointer in work:
        for user in pointer.instruction_users():
            if user.op == "getelementptr":
                work.append(user)
            elif user.is_plain_access and user.pointer is pointer:
                if user.op == "store" and user.operands[0] is pointer:
                    return None
                if layout.store_size(user.accessed_type) != unit:
                    return None
            elif not (user.callee_name or "").startswith(_HARMLESS):
                return None
    return unit


def _write(function: Function, call: Instruction, unit: int) -> None:
    target, source, size, _ = call.args
    assert isinstance(size, ConstInt)
    before = call.block
    assert before is not None
    behind = split_block(call, f"{before.name}.written")
    head = function.add_block(f"{before.name}.elements", before)
    body = function.add_block(f"{before.name}.element", head)
    type = int_type(8 * unit)
    build = Builder(before=before.terminator)
    build.loc = call.loc
    byte = None if source.type.is_pointer else repeated(build, source, unit)
    build.br(head)
    before.terminator.erase()
    build.at_end(head)
    number = build.phi(I64, name="element")
    build.cond_br(build.icmp("ult", number, const_int(size.value // unit)), body, behind)
    build.at_end(body)
    if byte is None:
        place = build.gep(type, source, (number,), ("inbounds",))
        byte = build.load(type, place, align=min(unit, alignment_of(call, 1)))
    place = build.gep(type, target, (number,), ("inbounds",))
    build.store(byte, place, align=min(unit, alignment_of(call, 0)))
    following = build.binary("add", number, const_int(1), ("nuw", "nsw"))
    build.br(head)
    number.add_incoming(const_int(0), before)
    number.add_incoming(following, body)
    call.erase()
