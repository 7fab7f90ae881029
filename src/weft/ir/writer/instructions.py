"""Writing instructions: one function for each printed form of the opcode table."""

from __future__ import annotations

from collections.abc import Callable

from weft.ir.constants import ConstInt
from weft.ir.instruction import Instruction
from weft.ir.types import VOID, FunctionType, IntType
from weft.ir.writer.values import ValueWriter

Form = Callable[[ValueWriter, Instruction], str]


def head(i: Instruction) -> str:
    """The opcode with its flags."""
    return f"{i.op} {' '.join(i.flags)}" if i.flags else i.op


def _same_type_operands(w: ValueWriter, i: Instruction) -> str:
    a, b = i.operands
    return f"{head(i)} {w.type(a.type)} {w.value(a)}, {w.value(b)}"


def _compare(w: ValueWriter, i: Instruction) -> str:
    a, b = i.operands
    return f"{head(i)} {i.attrs['predicate']} {w.type(a.type)} {w.value(a)}, {w.value(b)}"


def _typed_operands(w: ValueWriter, i: Instruction) -> str:
    return f"{head(i)} {w.typed_list(i.operands)}"


def _cast(w: ValueWriter, i: Instruction) -> str:
    return f"{head(i)} {w.typed(i.operands[0])} to {w.type(i.type)}"


def _phi(w: ValueWriter, i: Instruction) -> str:
    names = w.locals
    edges = ", ".join([f"[ {w.value(v)}, {names.get(b, '<badref>')} ]" for v, b in i.incoming()])
    shadow = f" shadow({w.value(i.shadow)})" if i.shadow is not None else ""
    return f"{head(i)} {w.type(i.type)} {edges}{shadow}"


def _gep(w: ValueWriter, i: Instruction) -> str:
    return f"{head(i)} {w.type(i.attrs['source_type'])}, {w.typed_list(i.operands)}"


def _access(i: Instruction) -> tuple[str, str]:
    """What stands before and behind the operands of a memory instruction."""
    attrs = i.attrs
    ordering = attrs.get("ordering")
    before = " atomic" if ordering and i.op in ("load", "store") else ""
    if attrs.get("volatile"):
        before += " volatile"
    after = _ordering(i) if ordering else ""
    if attrs.get("align"):
        after += f", align {attrs['align']}"
    return before, after


def _ordering(i: Instruction) -> str:
    scope = i.attrs.get("syncscope")
    ordering = i.attrs["ordering"] if "ordering" in i.attrs else f"{i.attrs['success']} {i.attrs['failure']}"
    return f' syncscope("{scope}") {ordering}' if scope is not None else f" {ordering}"


def _load(w: ValueWriter, i: Instruction) -> str:
    before, after = _access(i)
    return f"load{before} {w.type(i.type)}, {w.typed(i.operands[0])}{after}"


def _store(w: ValueWriter, i: Instruction) -> str:
    before, after = _access(i)
    return f"store{before} {w.typed_list(i.operands)}{after}"


def _alloca(w: ValueWriter, i: Instruction) -> str:
    attrs = i.attrs
    parts = [f"alloca {'inalloca ' if attrs.get('inalloca') else ''}{w.type(attrs['allocated_type'])}"]
    count = i.operands[0]
    if not (isinstance(count, ConstInt) and count.value == 1 and count.type == IntType(32)):
        parts.append(w.typed(count))
    if attrs.get("align"):
        parts.append(f"align {attrs['align']}")
    if attrs.get("space"):
        parts.append(f"addrspace({attrs['space']})")
    return ", ".join(parts)


def _atomicrmw(w: ValueWriter, i: Instruction) -> str:
    before, after = _access(i)
    return f"atomicrmw{before} {i.attrs['rmw']} {w.typed_list(i.operands)}{after}"


def _cmpxchg(w: ValueWriter, i: Instruction) -> str:
    before, after = _access(i)
    weak = " weak" if i.attrs.get("weak") else ""
    return f"cmpxchg{weak}{before} {w.typed_list(i.operands)}{_ordering(i)}{after}"


def _fence(w: ValueWriter, i: Instruction) -> str:
    return f"fence{_ordering(i)}"


def _br(w: ValueWriter, i: Instruction) -> str:
    targets = ", ".join([f"label {w.locals.get(b, '<badref>')}" for b in i.blocks])
    return f"br {w.typed(i.operands[0])}, {targets}" if i.operands else f"br {targets}"


def _switch(w: ValueWriter, i: Instruction) -> str:
    names = w.locals
    type = i.operands[0].type
    text = w.type(type)
    assert isinstance(type, IntType)
    cases = [
        f"    {text} {w.value(ConstInt(type, case))}, label {names.get(block, '<badref>')}\n"
        for case, block in zip(i.attrs.get("cases", ()), i.blocks[1:], strict=True)
    ]
    default = names.get(i.blocks[0], "<badref>")
    return f"switch {w.typed(i.operands[0])}, label {default} [\n{''.join(cases)}  ]"


def _ret(w: ValueWriter, i: Instruction) -> str:
    return f"ret {w.typed(i.operands[0])}" if i.operands else "ret void"


def _members(w: ValueWriter, i: Instruction) -> str:
    return f"{i.op} {w.typed_list(i.operands)}, {', '.join(map(str, i.attrs['indices']))}"


def _shuffle(w: ValueWriter, i: Instruction) -> str:
    mask = i.attrs["mask"]
    if all(lane == -1 for lane in mask):
        lanes = "poison"
    elif not any(mask):
        lanes = "zeroinitializer"
    else:
        lanes = f"<{', '.join(['i32 poison' if lane < 0 else f'i32 {lane}' for lane in mask])}>"
    return f"{head(i)} {w.typed_list(i.operands)}, <{len(mask)} x i32> {lanes}"


def call_text(w: ValueWriter, i: Instruction, fn_attrs: str) -> str:
    """A call; `fn_attrs` is the text of its function attributes, or the name of their group."""
    attrs = i.attrs
    fn_type: FunctionType = attrs["fn_type"]
    bundles: tuple[tuple[str, int], ...] = attrs.get("bundles", ())
    arguments = i.args
    words = [attrs["tail"], "call"] if attrs.get("tail") else ["call"]
    words += i.flags
    if attrs.get("cc"):
        words.append(attrs["cc"])
    words += attrs.get("ret_attrs", ())
    words.append(w.type(fn_type if fn_type.vararg else fn_type.result))
    arg_attrs = attrs.get("arg_attrs")
    if arg_attrs:
        shown = ", ".join(
            [
                f"{w.type(a.type)} {' '.join(texts)} {w.value(a)}" if texts else w.typed(a)
                for a, texts in zip(arguments, arg_attrs, strict=True)
            ]
        )
    else:
        shown = w.typed_list(arguments)
    words.append(f"{w.value(i.callee)}({shown})")
    if fn_attrs:
        words.append(fn_attrs)
    if bundles:
        words.append(_bundles(w, i, len(arguments), bundles))
    return " ".join(words)


def _bundles(w: ValueWriter, i: Instruction, start: int, bundles: tuple[tuple[str, int], ...]) -> str:
    texts: list[str] = []
    for tag, count in bundles:
        texts.append(f'"{tag}"({w.typed_list(i.operands[start : start + count])})')
        start += count
    return f"[ {', '.join(texts)} ]"


FORMS: dict[str, Form] = {
    "binary": _same_type_operands,
    "unary": _typed_operands,
    "cast": _cast,
    "compare": _compare,
    "select": _typed_operands,
    "phi": _phi,
    "gep": _gep,
    "load": _load,
    "store": _store,
    "alloca": _alloca,
    "call": lambda w, i: call_text(w, i, " ".join(i.attrs.get("fn_attrs", ()))),
    "br": _br,
    "switch": _switch,
    "ret": _ret,
    "unreachable": lambda w, i: "unreachable",
    "extractvalue": _members,
    "insertvalue": _members,
    "extractelement": _typed_operands,
    "insertelement": _typed_operands,
    "shufflevector": _shuffle,
    "freeze": _typed_operands,
    "atomicrmw": _atomicrmw,
    "cmpxchg": _cmpxchg,
    "fence": _fence,
}


def instruction_text(w: ValueWriter, i: Instruction, body: str) -> str:
    """`body` with the result's name and P-LLVM's marks before it."""
    if i.guard is not None:
        body = f"guard({w.value(i.guard)}) {body}"
    if i.total:
        body = f"total {body}"
    return body if i.type is VOID else f"{w.value(i)} = {body}"
