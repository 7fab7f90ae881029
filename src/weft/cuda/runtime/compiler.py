"""The compiler of the CUDA runtime, a process that answers it (`weft.device.host.messages`).

=============================================== ==================================================================
``load``, fat binary...                         the program's PTX, its variables and kernels
``prepare``, PTX, kernel, x, y, z, large, apart code for launches with blocks of one size, as a shared library
=============================================== ==================================================================

The first is answered by status, message, PTX, bytes of all variables, their contents up to the last one that is not 0,
places of addresses in them, variables (name, place, size) and kernels: name, architecture, shared memory, most threads
of a block, the size that blocks must have, and the size, alignment and passing of each parameter. The second is
answered as ``c/code.c`` reads it, and by the texts of the kernel's assertions.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
import traceback
from collections.abc import Sequence

from msgspec import Struct, field

from weft.cuda.c.compiled import KernelOrigin
from weft.cuda.ptx.build import PtxProgram
from weft.cuda.runtime.fatbin import chosen, embedded_ptx
from weft.device.compiled import CompiledKernel
from weft.device.host.messages import NUMBER, Answer, code_answer, known_lengths, no_code, serve_host
from weft.diag.errors import CompileError, PtxError, UnsupportedError, WeftError
from weft.frontend.cuda_c.arguments import WARP
from weft.frontend.device.clang import note_source
from weft.options import CompileOptions
from weft.ptx import syntax
from weft.ptx.check import check_module
from weft.ptx.lift.calls import is_memory
from weft.ptx.lift.variables import align_of, size_of, space_of
from weft.ptx.linking import link_modules
from weft.ptx.reader.module import read_module
from weft.ptx.writer import write_module
from weft.runtime.launch_terms import Specializations
from weft.runtime.row_numbers import Known
from weft.runtime.shape import LaunchShape

CAPABILITY = 75
"""The device's: what of CUDA it has is that of the oldest architecture that CUDA 13 knows."""

LOCK_STEP = "WEFT_CUDA_LOCK_STEP"
"""Set to 1 for programs whose warps rely on it without saying so."""

MAX_THREADS = 1024
_KEPT_PROGRAMS = 64

INVALID_IMAGE, NO_KERNEL_IMAGE, INVALID_PTX, NOT_SUPPORTED, UNKNOWN = 200, 209, 218, 801, 999
"""Errors of CUDA that answers begin with."""


class Program(Struct):
    """PTX of a program, and its kernels as far as they were asked for."""

    ptx: PtxProgram
    _kernels: dict[str, CompiledKernel] = field(default_factory=dict)
    _others: dict[str, Specializations[CompiledKernel]] = field(default_factory=dict)

    def code(
        self, name: str, block: tuple[int, int, int], large: bool, apart: bool, known: Known = ()
    ) -> CompiledKernel:
        """Code of a kernel for blocks of a size, where memory is `large`, where no two addresses are in one block.

        It may be for parameters that are `known`.

        Raises
        ------
        UnsupportedError
            It has what weft cannot run.
        """
        if name not in self._kernels:
            options = CompileOptions(whole_rows=True, warp=WARP, arrays_apart=True)
            self._kernels[name] = CompiledKernel(KernelOrigin(self.ptx.kernel(name), name), options)
            self._others[name] = Specializations(lambda code, options: CompiledKernel(code.origin, options))
        shape = LaunchShape((1, 1, 1), block)
        others = self._others[name]
        return others.serving(others.knowing(self._kernels[name], known), shape, large, lambda: not apart)


@functools.lru_cache(_KEPT_PROGRAMS)
def _program(text: bytes) -> Program:
    file = f"<ptx {hashlib.sha256(text).hexdigest()[:8]}>"
    source = text.decode()
    note_source(file, source)
    module = read_module(source, file)
    check_module(module)
    return Program(PtxProgram.of(module, file, os.environ.get(LOCK_STEP, "") not in ("", "0")))


def answer(fields: Sequence[bytes]) -> Answer:
    """The answer to a request."""
    kind, *rest = fields
    return _prepared(rest) if kind == b"prepare" else _loaded(rest)


def _loaded(fatbins: Sequence[bytes]) -> Answer:
    try:
        return _described(_text_of(fatbins))
    except WeftError as error:
        return Answer().add(_status(error), str(error))
    except Exception:
        return Answer().add(UNKNOWN, f"an error of its own\n{traceback.format_exc()}")


def _status(error: WeftError) -> int:
    if isinstance(error, PtxError):
        return INVALID_PTX
    if isinstance(error, CompileError) and not isinstance(error, UnsupportedError):
        return INVALID_IMAGE
    return NOT_SUPPORTED


def _text_of(fatbins: Sequence[bytes]) -> bytes:
    found = [ptx for fatbin in fatbins for ptx in embedded_ptx(fatbin)]
    if not found:
        raise UnsupportedError(
            "the program has no PTX",
            hint="build it with nvcc -arch=sm_75, or -gencode arch=compute_75,code=compute_75",
        )
    texts = [ptx.text for ptx in chosen(found, CAPABILITY)]
    if len(texts) == 1:
        return texts[0].encode()
    # Parts of a program that nvcc has compiled apart.
    return write_module(link_modules([read_module(text) for text in texts])).encode()


def _described(text: bytes) -> Answer:
    program = _program(text).ptx
    scope = program.scope
    pointers = b"".join(NUMBER.pack(n) for pair in scope.pointers for n in pair)
    made = Answer().add(0, "", text, len(scope.data), scope.data.rstrip(b"\0"), pointers, len(scope.offsets))
    sizes = {v.name: size_of(v) for v in program.text.variables()}
    for name, offset in scope.offsets.items():
        made.add(name, offset, sizes.get(name, 0))
    kernels = list(program.text.entries())
    made.add(len(kernels))
    for kernel in kernels:
        _add_kernel(made, kernel, program.text)
    return made


def _add_kernel(made: Answer, kernel: syntax.Function, module: syntax.Module) -> None:
    required = _sizes(kernel, "reqntid") or (0, 0, 0)
    most = _sizes(kernel, "maxntid") or (MAX_THREADS, 1, 1)
    limit = min(most[0] * most[1] * most[2], MAX_THREADS)
    own = (s for s in kernel.body or () if isinstance(s, syntax.Variable) and space_of(s) == "shared")
    target = "".join(c for c in module.target[0] if c.isdigit()) if module.target else "0"
    made.add(kernel.name, int(target), sum(map(size_of, own)), limit, *required, len(kernel.parameters))
    for parameter in kernel.parameters:
        made.add(size_of(parameter), align_of(parameter), int(is_memory(parameter)))


def _sizes(kernel: syntax.Function, directive: str) -> tuple[int, int, int] | None:
    found = kernel.directive(directive)
    if found is None:
        return None
    x, y, z = [*(int(v) for v in found.values), 1, 1][:3]
    return x, y, z


def _prepared(fields: Sequence[bytes]) -> Answer:
    text, name, *numbers = fields
    x, y, z, large, apart = (NUMBER.unpack(n)[0] for n in numbers[:5])
    try:
        program = _program(text)
        known = known_lengths(numbers[5:])
        code = program.code(name.decode(), (x, y, z), bool(large), bool(apart), known)
        made = code_answer(code, (x, y, z))
        assertions = program.ptx.kernel(name.decode()).assertions
    except WeftError as error:
        return no_code(_status(error), str(error))
    except Exception:
        return no_code(UNKNOWN, f"an error of its own\n{traceback.format_exc()}")
    made.add(len(assertions))
    return made.add(*(f"{a.text}, {a.file}:{a.line}" for a in assertions))


def main() -> None:
    """Serve the library whose socket is the standard input."""
    serve_host(answer)


if __name__ == "__main__":
    sys.exit(main())
