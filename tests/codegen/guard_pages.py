"""Kernels whose arrays lie between pages that no one may touch: ``python -m codegen.guard_pages ISA WIDTH...``.

Each kernel's active threads access n elements at the very end, or the very start, of a page; the elements of
passive threads would lie on the forbidden page beside it. The kernel under way is printed first, so that a
segmentation fault can be told to whom it belongs.
"""

from __future__ import annotations

import ctypes
import mmap
import sys

import numpy as np

from codegen.kernels import guarded, kernel_text, level_for
from codegen.machine_code import compile_kernel
from codegen.structures import member
from weft.machine.targets import isa_named

PAGE = mmap.PAGESIZE
PROT_NONE, PROT_RW = 0, 3

_INCREMENT = "  %v = load {type}, ptr {p}\n  %w = add {type} %v, 1\n  store {type} %w, ptr {p}"


def _access(address: str, type: str = "i32", pointer: str = "%p") -> str:
    return address + _INCREMENT.format(type=type, p=pointer)


_ELEMENT = "  %p = getelementptr inbounds {type}, ptr %out, i64 {index}\n"
_BACKWARDS = "  %k = sub i64 0, %tid\n  %p = getelementptr i32, ptr %out, i64 %k\n"
_OWN_INDEX = (
    "  %e = call i64 @llvm.umax.i64(i64 %tid, i64 %n)\n  %x = sub i64 %e, %n\n  %k = add i64 %x, %tid\n"
)
_DYNAMIC = _OWN_INDEX + "  %p = getelementptr i32, ptr %out, i64 %k\n"

_BELOW_N = "%c = icmp slt i64 %tid, %n"

ENDING = {
    "guard that becomes a bound": (
        "i32",
        guarded(_access(_ELEMENT.format(type="i32", index="%tid")), _BELOW_N),
    ),
    "contiguous": ("i32", guarded(_access(_ELEMENT.format(type="i32", index="%tid")))),
    "bytes": ("i8", guarded(_access(_ELEMENT.format(type="i8", index="%tid"), "i8"))),
    "doubles": ("i64", guarded(_access(_ELEMENT.format(type="i64", index="%tid"), "i64"))),
    "scattered": ("i32", guarded(_access(_DYNAMIC))),
    "atomic": (
        "i32",
        guarded(_ELEMENT.format(type="i32", index="%tid") + "  %o = atomicrmw add ptr %p, i32 1 monotonic"),
    ),
    "volatile": (
        "i32",
        guarded(
            _ELEMENT.format(type="i32", index="%tid")
            + "  %v = load volatile i32, ptr %p\n  %w = add i32 %v, 1\n  store volatile i32 %w, ptr %p"
        ),
    ),
    "one of two arms": (
        "i32",
        "  %c = icmp slt i64 %tid, %n\n  br i1 %c, label %a, label %b\na:\n"
        + _access(_ELEMENT.format(type="i32", index="%tid"))
        + "\n  br label %exit\nb:\n  br label %exit\nexit:",
    ),
    "bytes in a loop that threads leave one by one": (
        "i8",
        guarded(
            "  br label %head\nhead:\n  %i = phi i64 [ 0, %then ], [ %i1, %head ]\n  %at = add i64 %tid, %i\n"
            "  %q = getelementptr i8, ptr %out, i64 %at\n  %f = load i8, ptr %q\n  %i1 = add i64 %i, 1\n"
            "  %r = add i64 %tid, %i1\n  %room = icmp slt i64 %r, %n\n  %no = icmp ugt i8 %f, 1\n"
            "  %m = select i1 %room, i1 true, i1 %no\n  br i1 %m, label %head, label %exit2\nexit2:\n"
            + _access(_ELEMENT.format(type="i8", index="%tid"), "i8"),
        ),
    ),
    "loop of different lengths": (
        "i32",
        guarded(
            "  br label %head\nhead:\n  %i = phi i64 [ %tid, %then ], [ %i1, %head ]\n"
            + _access(_ELEMENT.format(type="i32", index="%i"))
            + "\n  %i1 = add i64 %i, 100\n  %m = icmp slt i64 %i1, %n\n  br i1 %m, label %head, label %exit2\nexit2:"
        ),
    ),
}
"""Element type, and a body that adds one to ``out[tid]`` for the threads below n."""

STARTING = {"reversed": ("i32", guarded(_access(_BACKWARDS)))}
"""As `ENDING`, but ``out[-tid]``."""

EMPTY = {
    "uniform": guarded(_access("", pointer="%out")),
    "uniform atomic": guarded("  %o = atomicrmw add ptr %out, i32 1 monotonic"),
    "uniform loop": guarded(
        "  br label %head\nhead:\n  %i = phi i32 [ 0, %then ], [ %i1, %head ]\n"
        + _access("", pointer="%out")
        + "\n  %i1 = add i32 %i, 1\n  %m = icmp ult i32 %i1, %u\n  br i1 %m, label %head, label %exit2\nexit2:"
    ),
}
"""Bodies whose threads below n access ``out[0]``; run with n = 0 and a pointer to a forbidden page."""

STRUCTURES = {
    "all members": (3, (0, 1, 2), "%tid"),
    "last member left out": (2, (0,), "%tid"),
    "first member left out": (4, (1, 3), "%tid"),
    "one of eight": (8, (5,), "%tid"),
    "neighbours that are gathered": (3, (1, 2), "%k"),
}
"""Fields of a structure of words, those that each thread adds one to, and the index of its structure."""

DECLARED = "declare i64 @llvm.umax.i64(i64, i64)\n"


def forbidden_around() -> tuple[mmap.mmap, int]:
    """A page between two that no one may touch: the mapping and the page's address."""
    mapping = mmap.mmap(-1, 3 * PAGE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(mapping))
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for page in (start, start + 2 * PAGE):
        assert protect(page, PAGE, PROT_NONE) == 0
    return mapping, start + PAGE


def structure_kernel(fields: int, members: tuple[int, ...], index: str, *, masked: bool) -> str:
    """Add one to the members of ``out[index]``, by all threads or those below n."""
    body = "".join(
        member("%out", fields, m, f"p{m}", index=index)
        + f"  %v{m} = load i32, ptr %p{m}\n  %w{m} = add i32 %v{m}, 1\n"
        for m in members
    ) + "".join(f"  store i32 %w{m}, ptr %p{m}\n" for m in members)
    if index != "%tid":
        body = _OWN_INDEX + body
    return kernel_text(guarded(body) if masked else body, DECLARED)


def run_structures(isa_name: str, width: int, middle: np.ndarray, page: int) -> None:
    """Arrays of structures whose first or last accessed member is at the edge of the page."""
    for name, (fields, members, index) in STRUCTURES.items():
        for masked in (False, True):
            print(isa_name, width, name, "masked" * masked, flush=True)
            isa = isa_named(isa_name)
            text = structure_kernel(fields, members, index, masked=masked)
            code = compile_kernel(text, width, isa, level=level_for(width, isa))
            for n in (width - 1, width, width + 1) if masked else (width,):
                threads = 2 * width if masked else width
                for first in (page - 4 * members[0], page + PAGE - 4 * ((n - 1) * fields + members[-1] + 1)):
                    middle[:] = 0
                    code((0, first, n, 0), threads)
                    assert middle.view(np.uint32).sum() == n * len(members), (name, masked, n)


def run(isa_name: str, widths: list[int]) -> None:
    """Run every kernel at each width for group sizes and counts of threads around it."""
    mapping, page = forbidden_around()
    isa = isa_named(isa_name)
    middle = np.frombuffer(mapping, np.uint8, PAGE, PAGE)
    for width in widths:
        for name, (type, body) in (ENDING | STARTING).items():
            print(isa_name, width, name, flush=True)
            code = compile_kernel(kernel_text(body, DECLARED), width, isa, level=level_for(width, isa))
            dtype = np.dtype(f"u{int(type[1:]) // 8}")
            for threads, n in (
                (width, 1),
                (width, width - 1),
                (2 * width, width + 1),
                (width + 1, width + 1),
                (64, 0),
            ):
                middle[:] = 0
                size = n * dtype.itemsize
                first = page + size - dtype.itemsize if name in STARTING else page + PAGE - size
                code((0, first, n, 0), threads)
                values = middle.view(dtype)
                touched = values[:n] if name in STARTING else values[-n:]
                assert n == 0 or touched.all(), (name, threads, n)
                assert values.sum() == n, (name, threads, n)
        if width < 64:
            run_structures(isa_name, width, middle, page)
        for name, body in EMPTY.items():
            print(isa_name, width, name, flush=True)
            code = compile_kernel(kernel_text(body, DECLARED), width, isa, level=level_for(width, isa))
            for threads in (width, 64, width - 1):
                code((0, page + PAGE, 0, 3), threads)


if __name__ == "__main__":
    run(sys.argv[1], [int(w) for w in sys.argv[2:]])
    print("untouched")
