"""Programs of OpenCL C compiled with the builtin library and run as scalar code: one work-item, loops over arrays."""

from __future__ import annotations

import ctypes
import re
import subprocess
from dataclasses import dataclass

import numpy as np

from weft.frontend.clang import find_clang
from weft.frontend.opencl.library import BASE_HEADER, link
from weft.runtime.cache import CacheEntry, ObjectCache, cache_key, default_cache
from weft.target.jit import LoadedCode, load_object
from weft.target.machine import TargetSpec, emit_object
from weft.target.passes import FINAL_FAST

TYPES = {
    "char": np.int8, "uchar": np.uint8, "short": np.int16, "ushort": np.uint16, "int": np.int32, "uint": np.uint32,
    "long": np.int64, "ulong": np.uint64, "half": np.float16, "float": np.float32, "double": np.float64,
}  # fmt: skip
INTEGERS = ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong")
FLOATS = ("half", "float", "double")
WIDTHS = (2, 3, 4, 8, 16)

_PRIMITIVES = """
define i64 @__weft_get_global_id(i32 %d) alwaysinline { ret i64 0 }
define i64 @__weft_get_local_id(i32 %d) alwaysinline { ret i64 0 }
define i64 @__weft_get_group_id(i32 %d) alwaysinline { ret i64 0 }
define i64 @__weft_get_global_offset(i32 %d) alwaysinline { ret i64 0 }
define i64 @__weft_get_global_size(i32 %d) alwaysinline { ret i64 1 }
define i64 @__weft_get_local_size(i32 %d) alwaysinline { ret i64 1 }
define i64 @__weft_get_enqueued_local_size(i32 %d) alwaysinline { ret i64 1 }
define i64 @__weft_get_num_groups(i32 %d) alwaysinline { ret i64 1 }
define i32 @__weft_work_dim() alwaysinline { ret i32 1 }
define void @__weft_barrier(i32 %f, i32 %s) alwaysinline { ret void }
define void @__weft_mem_fence(i32 %f) alwaysinline { ret void }
define void @__weft_sub_group_barrier(i32 %f, i32 %s) alwaysinline { ret void }
define i32 @__weft_sub_group_local_id() alwaysinline { ret i32 0 }
define i32 @__weft_sub_group_max_size() alwaysinline { ret i32 1 }
define i32 @__weft_work_group_any(i32 %x) alwaysinline { %b = icmp ne i32 %x, 0 %r = zext i1 %b to i32 ret i32 %r }
define i32 @__weft_work_group_all(i32 %x) alwaysinline { %b = icmp ne i32 %x, 0 %r = zext i1 %b to i32 ret i32 %r }
@scratch = internal addrspace(3) global [16384 x i8] zeroinitializer, align 128
define ptr addrspace(3) @__weft_scratch() alwaysinline { ret ptr addrspace(3) @scratch }
define i32 @__weft_sub_group_shuffle_i32(i32 %x, i32 %l) alwaysinline { ret i32 %x }
define i64 @__weft_sub_group_shuffle_i64(i64 %x, i32 %l) alwaysinline { ret i64 %x }
define i64 @__weft_sub_group_ballot(i32 %x) alwaysinline { %b = icmp ne i32 %x, 0 %r = zext i1 %b to i64 ret i64 %r }
define i64 @__weft_sub_group_active() alwaysinline { ret i64 1 }
define i32 @__weft_is_local(ptr addrspace(4) %p) alwaysinline { ret i32 0 }
define i32 @__weft_is_private(ptr addrspace(4) %p) alwaysinline { ret i32 0 }
"""
"""What the library is built on, for a launch of one work-item."""


def compile_program(source: str, standard: str = "CL3.0", options: tuple[str, ...] = ()) -> str:
    """The LLVM IR of a program, whose builtins are declared."""
    command = [
        *find_clang("spir64"), "-x", "cl", f"-cl-std={standard}", "-cl-no-stdinc", "-include", str(BASE_HEADER),
        "-Xclang", "-fdeclare-opencl-builtins", "--target=spir64-unknown-unknown", "-S", "-emit-llvm", "-O1",
        "-Xclang", "-disable-llvm-passes", "-ffp-contract=off", *options, "-", "-o", "-",
    ]  # fmt: skip
    done = subprocess.run(command, input=source, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def machine_text(linked: str) -> str:
    """The text for this machine: of the primitives, those that it calls and does not define."""
    text = re.sub(r"^target .*$|^declare [^@\n]*@__weft_.*$", "", linked, flags=re.M)
    # Each line of these has a name.
    missing = [
        line
        for line in _PRIMITIVES.strip().split("\n")
        if f"{re.search('@[^( ]+', line)[0]}" in linked or line.startswith("@")  # type: ignore[index]
    ]
    return text.replace("spir_kernel ", "") + "\n".join(missing)


@dataclass(frozen=True, slots=True)
class Kept:
    """Compiled sources of the library in the compile cache, which the tests share."""

    cache: ObjectCache

    def read(self, key: str) -> str | None:
        entry = self.cache.get(cache_key("test", key))
        return None if entry is None else entry.code.decode()

    def write(self, key: str, text: str) -> None:
        self.cache.put(cache_key("test", key), CacheEntry(text.encode()))


def linked(source: str, standard: str = "CL3.0", options: tuple[str, ...] = ()) -> str:
    """A program with its builtins."""
    cache = default_cache()
    return link(compile_program(source, standard, options), None, Kept(cache) if cache else None)


@dataclass(frozen=True, slots=True)
class Program:
    """Loaded kernels."""

    code: LoadedCode

    def __call__(self, kernel: str, *arguments: np.ndarray | int) -> None:
        """Run one work-item; arrays are passed by address, numbers as ``long``."""
        values = [
            a.ctypes.data_as(ctypes.c_void_p) if isinstance(a, np.ndarray) else int(a) for a in arguments
        ]
        types = [ctypes.c_void_p if isinstance(a, np.ndarray) else ctypes.c_long for a in arguments]
        ctypes.CFUNCTYPE(None, *types)(self.code.address(kernel))(*values)


def load(source: str) -> Program:
    """Compile a program with its builtins, and load it."""
    text = machine_text(linked(source))
    kernels = re.findall(r"^define (?:dso_local )?void @(\w+)\(.*?!kernel_arg", text, re.M)
    spec = TargetSpec.chosen()
    data = emit_object(text, spec, FINAL_FAST)
    return Program(load_object(data, [k for k in kernels if not k.startswith("__clang")]))


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a builtin on elements of arrays.

    Parameters
    ----------
    name
        Of the builtin.
    result
        Its type.
    parameters
        Types of its parameters. One that ends in ``*`` is a second result.
    """

    name: str
    result: str
    parameters: tuple[str, ...]

    def kernel(self, kernel: str) -> str:
        """A kernel that calls it for elements 0 to n."""
        header, arguments, before, after = [], [], "", ""
        for k, parameter in enumerate(self.parameters):
            if parameter.endswith("*"):
                plain = parameter[:-1]
                header.append(f"global {_parts(plain)[0]} *p{k}")
                before += f"{plain} q{k}; "
                after += _stored(plain, f"p{k}", f"q{k}")
                arguments.append(f"&q{k}")
            else:
                header.append(f"global const {_parts(parameter)[0]} *p{k}")
                arguments.append(_loaded(parameter, f"p{k}"))
        return (
            f"kernel void {kernel}({', '.join(header)}, global {_parts(self.result)[0]} *r, long n) {{\n"
            f"  for (long i = 0; i < n; i++) {{ {before}"
            f"{self.result} v = {self.name}({', '.join(arguments)}); {_stored(self.result, 'r', 'v')}{after} }}\n}}\n"
        )


def _parts(type_: str) -> tuple[str, str]:
    found = re.fullmatch(r"([a-z]+)(\d*)", type_)
    assert found is not None
    return found[1], found[2]


def _loaded(type_: str, array: str) -> str:
    width = _parts(type_)[1]
    return f"vload{width}(i, {array})" if width else f"{array}[i]"


def _stored(type_: str, array: str, value: str) -> str:
    width = _parts(type_)[1]
    return f"vstore{width}({value}, i, {array});" if width else f"{array}[i] = {value};"


def vector(type_: str, width: int) -> str:
    """The type of so many elements."""
    return type_ if width == 1 else f"{type_}{width}"
