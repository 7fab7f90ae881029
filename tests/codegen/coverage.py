"""What a program is made of and what the passes did with it, as counts for the report of a search."""

from __future__ import annotations

import re
from collections import Counter

from weft.diag.remarks import RemarkKind, RemarkLog
from weft.ir import Instruction, Module
from weft.ir.opcodes import OPCODES

_PREDICATED = ("icmp", "fcmp")
_CALLEE_NUMBER = re.compile(r"\d+$")


def kinds_of(module: Module) -> Counter[str]:
    """How many instructions of each kind the definitions of a module have: opcode and type, intrinsic by name."""
    return Counter(kind_of(i) for function in module.definitions() for i in function.instructions())


def kind_of(instruction: Instruction) -> str:
    """``add i32``, ``fcmp ord half``, ``load volatile i8``, ``llvm.smin.i32``, ``call noinline``."""
    op, attrs = instruction.op, instruction.attrs
    if op == "call":
        name = instruction.callee_name or "?"
        return name if name.startswith(("llvm.", "weft.")) else f"call {_CALLEE_NUMBER.sub('', name)}"
    words = [op]
    if op in _PREDICATED:
        words.append(str(attrs["predicate"]))
    if op == "atomicrmw":
        words.append(str(attrs["rmw"]))
    if attrs.get("volatile"):
        words.append("volatile")
    if attrs.get("ordering") and op in ("load", "store"):
        words.append("atomic")
    subject = instruction.operands[0] if op in ("store", *_PREDICATED) else instruction
    if not subject.type.is_void:
        words.append(str(subject.type))
    if op in ("sitofp", "uitofp", "zext", "sext", "trunc", "fptrunc", "fpext", "bitcast"):
        words.append(f"from {instruction.operands[0].type}")
    return " ".join(words)


def opcodes_without(kinds: Counter[str]) -> list[str]:
    """Opcodes that none of the kinds has."""
    seen = {kind.split()[0] for kind in kinds}
    calls = any(kind.startswith(("llvm.", "weft.")) for kind in kinds)
    return sorted(op for op in OPCODES if op not in seen and not (op == "call" and calls))


def passes_of(remarks: RemarkLog) -> Counter[str]:
    """How often the passes did what, from their remarks without numbers and names."""
    counts: Counter[str] = Counter()
    for remark in remarks:
        subject = remark.pass_name or "widening"
        words = re.sub(r"\b(call of) \S+", r"\1 a function", remark.message)
        if remark.kind is RemarkKind.VECTORIZED:
            words = "vectorized"
        counts[f"{subject}: {re.sub(r'[0-9]+', 'n', words)}"] += 1
    return counts


def report(kinds: Counter[str], passes: Counter[str]) -> str:
    """Opcodes and intrinsics with the number of their forms and instructions, opcodes never seen, what passes did."""
    by_opcode: dict[str, list[int]] = {}
    for kind, count in kinds.items():
        by_opcode.setdefault(_family(kind), []).append(count)
    lines = [f"{len(kinds)} kinds of instructions, {sum(kinds.values())} instructions"]
    lines += [f"  {name}: {len(c)} forms, {sum(c)}" for name, c in sorted(by_opcode.items())]
    lines.append(f"never: {', '.join(opcodes_without(kinds)) or 'none'}")
    lines += [f"{count} x {what}" for what, count in passes.most_common()]
    return "\n".join(lines)


def _family(kind: str) -> str:
    """The opcode, or an intrinsic without its types."""
    name = kind.split()[0]
    return re.sub(r"(\.p0|\.[if]\d+)+$", "", name) if name.startswith("llvm.") else name
