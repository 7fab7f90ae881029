"""An interpreter of PTX whose threads are independent, as on GPUs since sm_70: each goes on when it is drawn.

Threads of a warp that are at one instruction may execute it together or apart. Only barriers, votes and shuffles wait:
those of a warp for all its threads that have not ended, those of the block for all threads of it. It has what
`generators.ptx_kernels` and spill code have.
"""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass, field

import numpy as np

from weft.ptx.reader import read_module
from weft.ptx.syntax import (
    Address,
    Float,
    Instruction,
    Integer,
    Label,
    Negated,
    Pair,
    Register,
    SpecialRegister,
    Symbol,
    Variable,
    Vector,
)
from weft.ptx.types import bits_of

WARP = 32
_GLOBAL = 1 << 32


@dataclass(slots=True)
class Thread:
    number: int
    at: int = 0
    registers: dict = field(default_factory=dict)
    local: bytearray = field(default_factory=bytearray)
    waits: str = ""
    ended: bool = False


def run(text: str, arrays: list[np.ndarray], grid: int, threads: int, seed: int) -> None:
    """Run the only kernel of a module over one-dimensional blocks; arrays are changed in place."""
    module = read_module(text, "<interleaved>")
    kernel = next(module.entries())
    for block in range(grid):
        _Block(module, kernel, arrays, block, threads, random.Random(seed * 1000 + block)).run()


class _Block:
    def __init__(self, module, kernel, arrays, number, threads, draw) -> None:
        self.kernel, self.draw, self.number, self.size = kernel, draw, number, threads
        self.body = [s for s in kernel.body if isinstance(s, Instruction | Label)]
        self.labels = {s.name: at for at, s in enumerate(self.body) if isinstance(s, Label)}
        self.addresses: dict[str, int] = {}
        shared = local = 0
        for v in (*module.variables(), *(s for s in kernel.body if isinstance(s, Variable))):
            size = bits_of(v.type) // 8
            for extent in v.extents:
                size *= extent
            if v.space == "shared":
                shared = -(-shared // 16) * 16
                self.addresses[v.name] = shared
                shared += size
            elif v.space == "local":
                self.addresses[v.name] = local
                local += size
        self.shared = bytearray(shared)
        # Garbage, so that a slot that is read before it is written shows.
        for k in range(shared):
            self.shared[k] = draw.randrange(256)
        self.memory = [a.view(np.uint8).reshape(-1) for a in arrays]
        self.parameters = {p.name: _GLOBAL * (k + 1) for k, p in enumerate(kernel.parameters)}
        self.threads = [Thread(k, local=bytearray(local)) for k in range(threads)]
        self.steps = 0

    def run(self) -> None:
        while True:
            ready = [t for t in self.threads if not t.ended and not t.waits]
            if not ready:
                if all(t.ended for t in self.threads):
                    return
                assert self.release(), "threads wait for each other for ever"
                continue
            first = self.draw.choice(ready)
            warp = first.number // WARP
            peers = [t for t in ready if t.number // WARP == warp and t.at == first.at]
            if self.draw.random() < 0.5:
                peers = [t for t in peers if t is first or self.draw.random() < 0.5]
            for _ in range(self.draw.choice((1, 1, 2, 5, 20, 60))):
                for thread in peers:
                    if not thread.ended and not thread.waits:
                        self.step(thread)
            self.release()

    def release(self) -> bool:
        """Let those go on whose barrier everyone has reached."""
        found = False
        alive = [t for t in self.threads if not t.ended]
        if alive and all(t.waits == "block" for t in alive):
            for t in alive:
                t.waits = ""
                t.at += 1
            return True
        for warp in range(-(-self.size // WARP)):
            members = [t for t in alive if t.number // WARP == warp]
            if members and all(t.waits == "warp" for t in members):
                assert len({t.at for t in members}) == 1, "threads of a warp wait at different places"
                self.together(self.body[members[0].at], members)
                for t in members:
                    t.waits = ""
                    t.at += 1
                found = True
        return found

    def together(self, i: Instruction, members: list[Thread]) -> None:
        if i.opcode == "vote":
            values = {t.number: self.value(t, i.operands[1], "pred") for t in members}
            if "ballot" in i.modifiers:
                result = sum(bool(v) << (n % WARP) for n, v in values.items())
            else:
                result = int((any if "any" in i.modifiers else all)(values.values()))
            for t in members:
                self.write(t, i.operands[0], result)
        elif i.opcode == "shfl":
            values = {t.number % WARP: self.value(t, i.operands[1], "b32") for t in members}
            new = []
            for t in members:
                lane, by = t.number % WARP, self.value(t, i.operands[2], "b32") & 31
                other = {"idx": by, "bfly": lane ^ by, "down": lane + by, "up": lane - by}[i.modifiers[1]]
                inside = 0 <= other < WARP
                new.append((t, values.get(other if inside else lane, values[lane]), inside))
            for t, value, inside in new:
                target = i.operands[0]
                if isinstance(target, Pair):
                    self.write(t, target.first, value)
                    self.write(t, target.second, int(inside))
                else:
                    self.write(t, target, value)

    def step(self, t: Thread) -> None:
        self.steps += 1
        assert self.steps < 4_000_000, "the kernel does not end"
        if t.at >= len(self.body):
            t.ended = True
            return
        i = self.body[t.at]
        if isinstance(i, Label):
            t.at += 1
            return
        if i.guard is not None and bool(t.registers.get(i.guard.register.name, 0)) == i.guard.negated:
            t.at += 1
            return
        if i.opcode in ("vote", "shfl") or (i.opcode == "bar" and "warp" in i.modifiers):
            t.waits = "warp"
            return
        if i.opcode == "bar":
            t.waits = "block"
            return
        if i.opcode == "bra":
            t.at = self.labels[i.operands[0].name]
            return
        if i.opcode in ("ret", "exit"):
            t.ended = True
            return
        getattr(self, f"_{i.opcode.rstrip('_')}")(t, i)
        t.at += 1

    def value(self, t: Thread, operand, type: str):
        bits = 1 if type == "pred" else bits_of(type)
        match operand:
            case Register(name):
                return t.registers.get(name, 0) & ((1 << bits) - 1)
            case Integer():
                return operand.bits(bits)
            case Float():
                return operand.bits(bits)
            case Negated(inner):
                return int(not self.value(t, inner, type))
            case Symbol(name, offset):
                return self.addresses[name] + offset
            case SpecialRegister(name, dimension):
                one = dimension != "x"
                known = {"%tid": 0 if one else t.number, "%ntid": 1 if one else self.size,
                         "%ctaid": 0 if one else self.number}  # fmt: skip
                return known[name]
            case Vector(parts):
                each = bits // len(parts)
                return sum(self.value(t, p, f"b{each}") << (k * each) for k, p in enumerate(parts))
        raise NotImplementedError(operand)

    def write(self, t: Thread, operand, value: int) -> None:
        assert isinstance(operand, Register)
        t.registers[operand.name] = value

    def _mov(self, t, i):
        type = i.modifiers[-1]
        if isinstance(i.operands[0], Vector):
            value = self.value(t, i.operands[1], type)
            each = bits_of(type) // len(i.operands[0].elements)
            for k, part in enumerate(i.operands[0].elements):
                self.write(t, part, value >> (k * each) & ((1 << each) - 1))
        else:
            self.write(t, i.operands[0], self.value(t, i.operands[1], type))

    def _binary(self, t, i):
        type = i.modifiers[-1]
        a, b = (self.value(t, o, type) for o in i.operands[1:3])
        self.write(t, i.operands[0], _computed(i.opcode, type, a, b))

    _add = _sub = _and = _or = _xor = _min = _max = _shl = _shr = _binary

    def _mul(self, t, i):
        type = i.modifiers[-1]
        a, b = (self.value(t, o, type) for o in i.operands[1:3])
        if type.startswith("f"):
            self.write(t, i.operands[0], _computed("mul", type, a, b))
        else:
            bits = bits_of(type) * (2 if "wide" in i.modifiers else 1)
            self.write(t, i.operands[0], _read(a, type) * _read(b, type) & ((1 << bits) - 1))

    def _mad(self, t, i):
        type = i.modifiers[-1]
        bits = bits_of(type) * (2 if "wide" in i.modifiers else 1)
        a, b = (_read(self.value(t, o, type), type) for o in i.operands[1:3])
        c = self.value(t, i.operands[3], f"b{bits}")
        self.write(t, i.operands[0], (a * b + c) & ((1 << bits) - 1))

    def _cvt(self, t, i):
        to, source = i.modifiers[-2:]
        value = _read(self.value(t, i.operands[1], source), source)
        if to == "f32":
            result = _bits(np.float32(value))
        elif source == "f32":
            whole = 0 if np.isnan(value) else int(np.clip(np.trunc(np.float64(value)), -(2**31), 2**31 - 1))
            result = whole & 0xFFFFFFFF
        else:
            result = value & ((1 << bits_of(to)) - 1)
        self.write(t, i.operands[0], result)

    def _setp(self, t, i):
        type, how = i.modifiers[-1], i.modifiers[0]
        signed = "u" + type[1:] if how in ("lo", "ls", "hi", "hs") else type
        a, b = (_read(self.value(t, o, type), signed) for o in i.operands[1:3])
        how = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}.get(how, how)
        value = {"lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b, "eq": a == b, "ne": a != b}[how]
        target = i.operands[0]
        if isinstance(target, Pair):
            self.write(t, target.first, int(value))
            self.write(t, target.second, int(not value))
        else:
            self.write(t, target, int(value))

    def _selp(self, t, i):
        chosen = i.operands[1] if self.value(t, i.operands[3], "pred") else i.operands[2]
        self.write(t, i.operands[0], self.value(t, chosen, i.modifiers[-1]))

    def place(self, t, i, address: Address):
        base = address.base
        if "param" in i.modifiers:
            return None, self.parameters[base.name]
        at = self.value(t, base, "b64" if isinstance(base, Register) else "b32") + address.offset
        if "shared" in i.modifiers:
            return self.shared, at & 0xFFFFFFFF
        if "local" in i.modifiers:
            return t.local, at
        return self.memory[at // _GLOBAL - 1], at % _GLOBAL

    def _ld(self, t, i):
        memory, at = self.place(t, i, i.operands[1])
        if memory is None:
            self.write(t, i.operands[0], at)
            return
        size = bits_of(i.modifiers[-1]) // 8
        target = i.operands[0]
        for k, part in enumerate(target.elements if isinstance(target, Vector) else (target,)):
            raw = bytes(memory[at + k * size : at + (k + 1) * size])
            assert len(raw) == size, "a load is out of bounds"
            self.write(t, part, int.from_bytes(raw, "little"))

    def _st(self, t, i):
        memory, at = self.place(t, i, i.operands[0])
        type = i.modifiers[-1]
        size = bits_of(type) // 8
        raw = self.value(t, i.operands[1], type).to_bytes(size, "little")
        assert at >= 0 and at + size <= len(memory), "a store is out of bounds"
        memory[at : at + size] = raw if isinstance(memory, bytearray) else np.frombuffer(raw, np.uint8)


def _bits(value) -> int:
    return struct.unpack("<I", struct.pack("<f", value))[0]


def _read(value: int, type: str):
    """Bits as a number of a type."""
    bits = bits_of(type)
    if type == "f32":
        return np.uint32(value).view(np.float32)
    if type.startswith("s") and value >> (bits - 1):
        return value - (1 << bits)
    return value


def _computed(opcode: str, type: str, a: int, b: int) -> int:
    bits = bits_of(type)
    if type == "f32":
        x, y = _read(a, type), _read(b, type)
        with np.errstate(all="ignore"):
            if opcode in ("min", "max"):
                # A number wins over NaN; which zero wins shows in no result of these kernels.
                return int((np.fmin if opcode == "min" else np.fmax)(x, y).view(np.uint32))
            return int({"add": x + y, "sub": x - y, "mul": x * y}[opcode].view(np.uint32))
    if opcode in ("shl", "shr"):
        if opcode == "shl":
            return (a << b) & ((1 << bits) - 1) if b < bits else 0
        return (_read(a, type) >> min(b, bits)) & ((1 << bits) - 1)
    x, y = _read(a, type), _read(b, type)
    found = {"add": x + y, "sub": x - y, "and": a & b, "or": a | b, "xor": a ^ b,
             "min": min(x, y), "max": max(x, y)}[opcode]  # fmt: skip
    return found & ((1 << bits) - 1)
