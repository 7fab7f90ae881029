"""LLVM's own code as the judge of the judge: one small function per case, compiled unoptimized and run.

A case is a function of scalars in LLVM text. `run_both` gives its results from the interpreter (with their
flags) and from machine code, as arrays of bit patterns, for one row of arguments per lane.
"""

import ctypes
from dataclasses import dataclass

import numpy as np

from weft import interp
from weft.ir.reader import read_module
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_object

FLOATS = {"half": 16, "bfloat": 16, "float": 32, "double": 64}


@dataclass(frozen=True)
class Case:
    """`body` computes %r from %a, %b, %c of types `params`."""

    name: str
    result: str
    params: tuple[str, ...]
    body: str
    declarations: str = ""


def bits_of(type: str) -> int:
    return FLOATS.get(type) or int(type[1:])


def container(type: str) -> int:
    return next(c for c in (8, 16, 32, 64) if bits_of(type) <= c)


def _function(case: Case) -> str:
    params = ", ".join(f"{t} %{n}" for t, n in zip(case.params, "abcd", strict=False))
    return f"define {case.result} @{case.name}({params}) {{\n{case.body}\n  ret {case.result} %r\n}}\n"


def _widened(type: str, value: str, out: str) -> str:
    """LLVM text that turns a value into an integer of its container."""
    bits, whole = bits_of(type), container(type)
    if type in FLOATS:
        return f"  %{out} = bitcast {type} %{value} to i{whole}\n"
    if bits == whole:
        return f"  %{out} = add i{whole} %{value}, 0\n"
    return f"  %{out} = zext {type} %{value} to i{whole}\n"


def _narrowed(type: str, value: str, out: str) -> str:
    bits, whole = bits_of(type), container(type)
    if type in FLOATS:
        return f"  %{out} = bitcast i{whole} %{value} to {type}\n"
    if bits == whole:
        return f"  %{out} = add i{whole} %{value}, 0\n"
    return f"  %{out} = trunc i{whole} %{value} to {type}\n"


def _loop(case: Case) -> str:
    """A loop over arrays of containers that calls the case's function."""
    arrays = "".join(f", ptr %p{n}" for n in range(len(case.params)))
    lines = []
    for n, type in enumerate(case.params):
        whole = container(type)
        lines.append(
            f"  %q{n} = getelementptr i{whole}, ptr %p{n}, i64 %i\n  %w{n} = load i{whole}, ptr %q{n}\n"
        )
        lines.append(_narrowed(type, f"w{n}", f"v{n}"))
    values = ", ".join(f"{t} %v{n}" for n, t in enumerate(case.params))
    whole = container(case.result)
    return f"""define void @{case.name}.loop(i64 %n, ptr %out{arrays}) {{
entry:
  br label %body
body:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
{"".join(lines)}  %r = call {case.result} @{case.name}({values})
{_widened(case.result, "r", "s")}  %q = getelementptr i{whole}, ptr %out, i64 %i
  store i{whole} %s, ptr %q
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %body, label %end
end:
  ret void
}}
"""


class Oracle:
    """The compiled cases, and the same functions for the interpreter."""

    def __init__(self, cases: list[Case]) -> None:
        self.cases = {case.name: case for case in cases}
        declarations = "\n".join(sorted({line for c in cases for line in c.declarations.splitlines()}))
        functions = declarations + "\n" + "".join(map(_function, cases))
        self.program = interp.Program(read_module(functions))
        # A symbol that is nowhere is an error here, not a call to anywhere.
        spec = TargetSpec.chosen(level=0)
        self.code = load_object(
            emit_object(functions + "".join(map(_loop, cases)), spec), [f"{c.name}.loop" for c in cases]
        )

    def compiled(self, name: str, inputs: list[np.ndarray]) -> np.ndarray:
        case = self.cases[name]
        arrays = [
            np.ascontiguousarray(a).astype(f"u{container(t) // 8}")
            for t, a in zip(case.params, inputs, strict=True)
        ]
        out = np.zeros(arrays[0].size, f"u{container(case.result) // 8}")
        function = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * (1 + len(arrays)))(
            self.code.address(f"{name}.loop")
        )
        function(out.size, out.ctypes.data, *(a.ctypes.data for a in arrays))
        return out

    def interpreted(self, name: str, inputs: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        case = self.cases[name]
        lanes = inputs[0].size
        arguments = [interp.Lanes(_from_bits(t, a)) for t, a in zip(case.params, inputs, strict=True)]
        outcome = interp.run_function(self.program, name, arguments, lanes)
        flags = np.zeros(lanes, np.uint8) if outcome.flags is None else np.asarray(outcome.flags)
        return _to_bits(case.result, np.ascontiguousarray(outcome.data)), flags

    def check(self, name: str, inputs: list[np.ndarray], *, defined: bool = True) -> None:
        """Both agree wherever the interpreter calls the result defined; NaNs are all one."""
        case = self.cases[name]
        want = self.compiled(name, inputs)
        got, flags = self.interpreted(name, inputs)
        known = flags == 0
        if defined:
            assert known.all(), f"{name}: poison for {[hex(int(a[~known][0])) for a in inputs]}"
        assert known.any(), f"{name} is poison everywhere"
        same = (want == got) | ~known
        if case.result in FLOATS:
            same |= _is_nan(case.result, want) & _is_nan(case.result, got)
        if "bfloat" in (*case.params, case.result):
            # The conversion instructions of x86, where there are any, take subnormal numbers for zero and quiet NaNs.
            for type, data in zip((*case.params, case.result), (*inputs, got), strict=True):
                if type in ("float", "bfloat"):
                    same |= _is_subnormal(type, data) | _is_nan(type, data)
        if not same.all():
            bad = int(np.flatnonzero(~same)[0])
            arguments = [hex(int(a[bad])) for a in inputs]
            raise AssertionError(f"{name}{arguments}: compiled {want[bad]:#x}, interpreted {got[bad]:#x}")


def _from_bits(type: str, bits: np.ndarray) -> np.ndarray:
    raw = bits.astype(f"u{container(type) // 8}")
    if type == "i1":
        return raw.astype(np.bool_)
    return raw.view(f"f{bits_of(type) // 8}") if type in ("half", "float", "double") else raw


def _to_bits(type: str, data: np.ndarray) -> np.ndarray:
    if type == "i1":
        return data.astype(np.uint8)
    return data.view(f"u{data.dtype.itemsize}")


def _is_nan(type: str, bits: np.ndarray) -> np.ndarray:
    mantissa = {"half": 10, "bfloat": 7, "float": 23, "double": 52}[type]
    total = bits_of(type)
    exponent = (1 << (total - 1 - mantissa)) - 1
    wide = bits.astype(np.uint64)
    return ((wide >> np.uint64(mantissa)) & np.uint64(exponent) == exponent) & (
        wide & np.uint64((1 << mantissa) - 1) != 0
    )


def _is_subnormal(type: str, bits: np.ndarray) -> np.ndarray:
    mantissa = {"bfloat": 7, "float": 23}[type]
    return (bits.astype(np.uint64) >> np.uint64(mantissa)) & np.uint64(0xFF) == 0


def samples(type: str, count: int, rng: np.random.Generator) -> np.ndarray:
    """Bit patterns of `type`: the corners, then random ones, in random order."""
    bits = bits_of(type)
    top = (1 << bits) - 1
    corners = [0, 1, 2, 3, top, top - 1, 1 << (bits - 1), (1 << (bits - 1)) - 1, bits, bits - 1]
    if type in FLOATS:
        mantissa = {"half": 10, "bfloat": 7, "float": 23, "double": 52}[type]
        bias = (1 << (bits - 2 - mantissa)) - 1
        one = bias << mantissa
        infinity = (2 * bias + 1) << mantissa
        corners = [0, 1, one, one + 1, one >> 1, infinity, infinity - 1, infinity | (1 << (mantissa - 1)),
                   1 << mantissa, (1 << mantissa) - 1, (bias + 1) << mantissa, one | (1 << (mantissa - 1)),
                   (bias - 1) << mantissa]  # fmt: skip
        corners += [c | (1 << (bits - 1)) for c in corners]
    values = [c & top for c in corners]
    random = [int.from_bytes(rng.bytes(8), "little") & top for _ in range(max(0, count - len(values)))]
    small = [r % 64 if n % 4 == 0 and type not in FLOATS else r for n, r in enumerate(random)]
    if type in FLOATS:
        # Half of them of moderate size, where results are neither infinite nor zero.
        for n in range(0, len(small), 2):
            small[n] = (small[n] & ((1 << mantissa) - 1)) | ((bias + n % 24 - 12 + (n // 24) % 2) << mantissa)
            small[n] |= (n % 3 == 0) << (bits - 1)
    both = np.array((values + small)[:count], np.uint64)
    return rng.permutation(both)
