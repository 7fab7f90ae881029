"""Code as weft writes it for AVX-512 runs on a machine that has none.

The level decides what weft does up to LLVM's text: widths, masks, gathers, costs. Of that text LLVM makes code for the
processor at hand, which splits the vectors. What names an instruction of AVX-512 has a stand-in in plain LLVM IR; own
mathematics is written as for AVX2, and no library's functions of 512 bits are called. So what is not tested here is
LLVM's code generator for the level, and those instructions themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from types import SimpleNamespace

import llvmlite.binding as llvm
import msgspec

from weft.machine import host, targets, vecmath
from weft.target import llvm as border
from weft.target.own_math.writing import Lines

_ALL = range(64)
_ESTIMATE = """
define internal {type} @{name}({type} %x, {type} %passive, i8 %mask) alwaysinline {{
  %root = call {type} @llvm.sqrt.v{lanes}f64({type} %x)
  %inverse = fdiv {type} splat (double 1.0), %root
  %short = fptrunc {type} %inverse to <{lanes} x float>
  %estimate = fpext <{lanes} x float> %short to {type}
  ret {type} %estimate
}}
"""
_PICK = """
define internal <64 x i8> @{name}(<64 x i8> %from, <64 x i8> %places) alwaysinline {{
  %a = shufflevector <64 x i8> %from, <64 x i8> poison, {low}
  %b = shufflevector <64 x i8> %from, <64 x i8> poison, {high}
  %c = shufflevector <64 x i8> %places, <64 x i8> poison, {low}
  %d = shufflevector <64 x i8> %places, <64 x i8> poison, {high}
  %e = call <32 x i8> @llvm.x86.avx2.pshuf.b(<32 x i8> %a, <32 x i8> %c)
  %f = call <32 x i8> @llvm.x86.avx2.pshuf.b(<32 x i8> %b, <32 x i8> %d)
  %picked = shufflevector <32 x i8> %e, <32 x i8> %f, {all}
  ret <64 x i8> %picked
}}
"""


def is_needed() -> bool:
    """Whether the processor at hand has no AVX-512."""
    return not targets.AVX512.features <= host.host().features


def install() -> None:
    """Let this process stand in for a machine with AVX-512, unless it is one."""
    if not is_needed():
        return
    host._lacking = lambda: ()
    Lines.has_parts = property(lambda self: False)
    for library in vecmath.LIBRARIES:
        kept = tuple(v for v in library.variants if v.isa is not targets.AVX512)
        msgspec.structs.force_setattr(library, "variants", kept)
    border.TargetMachine.__init__ = _for_this_machine(border.TargetMachine.__init__)
    border.TargetMachine.emit_object = _without_instructions(border.TargetMachine.emit_object)


def _for_this_machine(make: Callable[..., None]) -> Callable[..., None]:
    """Make target machines that say they are of the level, and are the processor at hand."""
    cpu = llvm.get_host_cpu_name()
    own = ",".join(f"{'+' if has else '-'}{name}" for name, has in llvm.get_host_cpu_features().items())

    def init(self: border.TargetMachine, triple: str, name: str, features: str, level: int) -> None:
        make(self, triple, name, features, level)
        if self.isa.vector_bits == targets.AVX512.vector_bits:
            isa = self.isa
            make(self, triple, cpu, own, level)
            self.isa = isa

    return init


def _without_instructions(emit: Callable[..., bytes]) -> Callable[..., bytes]:
    def emit_object(self: border.TargetMachine, module: border.ParsedModule) -> bytes:
        if self.isa.vector_bits == targets.AVX512.vector_bits and (text := _with_stand_ins(str(module))):
            return emit(self, SimpleNamespace(ref=border._parsed(text)))
        return emit(self, module)

    return emit_object


def _with_stand_ins(text: str) -> str:
    """The module with functions in the place of instructions; nothing where it names none."""
    names = sorted(set(re.findall(r"@(llvm\.x86\.avx512\.[\w.]+)", text)))
    for name in names:
        own = name.replace("llvm.x86.", "stand_in.")
        text = re.sub(rf"^declare[^\n]*@{re.escape(name)}\(.*\n", "", text, flags=re.MULTILINE)
        text = text.replace(f"@{name}(", f"@{own}(")
        needed, body = _stand_in(name, own)
        text += body if f"@{needed}(" in text else f"declare {_TYPES[needed]}\n{body}"
    return text if names else ""


_TYPES = {
    "llvm.x86.avx2.pshuf.b": "<32 x i8> @llvm.x86.avx2.pshuf.b(<32 x i8>, <32 x i8>)",
    **{f"llvm.sqrt.v{n}f64": f"<{n} x double> @llvm.sqrt.v{n}f64(<{n} x double>)" for n in (2, 4, 8)},
}


def _stand_in(name: str, own: str) -> tuple[str, str]:
    """The function that a stand-in calls, and its definition."""
    kind, _, bits = name.removeprefix("llvm.x86.avx512.").rpartition(".")
    if kind == "rsqrt14.pd":
        lanes = int(bits) // 64
        return f"llvm.sqrt.v{lanes}f64", _ESTIMATE.format(name=own, lanes=lanes, type=f"<{lanes} x double>")
    if kind == "pshuf.b":
        low, high, both = (_places(part) for part in (_ALL[:32], _ALL[32:], _ALL))
        return "llvm.x86.avx2.pshuf.b", _PICK.format(name=own, low=low, high=high, all=both)
    raise NotImplementedError(f"{name} has no stand-in yet: give it one in {__file__}")


def _places(places: range) -> str:
    return f"<{len(places)} x i32> <{', '.join(f'i32 {k}' for k in places)}>"
