"""The compiler of the OpenCL driver: a process that a driver starts, asks over a socket, and leaves to end with it.

`weft.device.host.messages` says what messages look like.

========================================================== =============================================================
``build``, options, source                                 a program of its own
``compile``, options, source, number, (name, header)...    a part of a program
``link``, options, number, part...                         a program, or a library, of parts
``load``, options, program                                 what is known of a program that was made before
``prepare``, program, kernel, x, y, z, large, placed,      code for launches of one kind, as a shared library
apart, (slot, length)...
``check``, program, kernel, placed, groups and work-items  a part of a launch on the interpreter
along x, y and z, local bytes, slots, (address, name,
bytes)...
========================================================== =============================================================

The first four are answered by status, log, type, program, bytes of program scope with their contents, and kernels;
``prepare`` by status, path or message, symbol, needs and where rows have their lengths from; ``check`` by how it went,
message, what was printed, and the bytes.
"""

from __future__ import annotations

import functools
import sys
import traceback
from collections.abc import Callable, Sequence

from weft.device.host.messages import NUMBER, Answer, code_answer, known_lengths, no_code, serve_host
from weft.diag.errors import CompileError, SettingError, UnsupportedError, WeftError
from weft.frontend.device.metadata import ArgumentInfo, KernelInfo, Passing
from weft.opencl.parts import Part, compile_part, link_parts
from weft.opencl.prepare import Built, LaunchKind
from weft.opencl.source import ProgramSource, build_source
from weft.opencl.undefined import check_defined

OUT_OF_RESOURCES, BUILD_FAILURE, LINK_FAILURE = -5, -11, -17
INVALID_BUILD_OPTIONS, INVALID_LINKER_OPTIONS, INVALID_BINARY = -43, -67, -42
"""Errors of the standard that answers begin with."""

COMPILED_OBJECT, LIBRARY, EXECUTABLE = 1, 2, 4
"""Types of programs."""

_PASSINGS = (Passing.BUFFER, Passing.LOCAL, Passing.VALUE, Passing.RECORD, Passing.IMAGE, Passing.SAMPLER)
_SPACES = ("private", "global", "constant", "local")
_ACCESSES = ("none", "read_only", "write_only", "read_write")
_QUALIFIERS = ("const", "restrict", "volatile", "pipe")

_KEPT_PROGRAMS = 64


def answer(fields: Sequence[bytes]) -> Answer:
    """The answer to a request."""
    kind = fields[0].decode()
    if kind == "check":
        return _checked_launch(fields[1:])
    return _prepared(fields[1:]) if kind == "prepare" else _program(kind, fields[1:])


def _program(kind: str, fields: Sequence[bytes]) -> Answer:
    failure = LINK_FAILURE if kind == "link" else BUILD_FAILURE
    options_failure = INVALID_LINKER_OPTIONS if kind == "link" else INVALID_BUILD_OPTIONS
    try:
        return _MAKERS[kind](fields)
    except SettingError as error:
        status, log = options_failure, str(error)
    except UnsupportedError as error:
        status, log = failure, str(error)
    except CompileError as error:
        status, log = failure, getattr(error, "log", "") or str(error)
    except WeftError as error:
        status, log = failure, str(error)
    except Exception:
        # The program is not at fault, and its host must go on.
        status, log = OUT_OF_RESOURCES, f"weft: an error of its own\n{traceback.format_exc()}"
    return Answer().add(status, log, 0, b"", 0, b"", b"", 0)


def _build(fields: Sequence[bytes]) -> Answer:
    options, source = (f.decode(errors="surrogateescape") for f in fields)
    return _checked(build_source(source, options))


def _compile(fields: Sequence[bytes]) -> Answer:
    options, source, _, *headers = fields
    texts = [h.decode(errors="surrogateescape") for h in headers]
    named = dict(zip(texts[::2], texts[1::2], strict=True))
    part = compile_part(source.decode(errors="surrogateescape"), options.decode(), named)
    return Answer().add(0, part.log, COMPILED_OBJECT, part.to_bytes(), 0, b"", b"", 0)


def _link(fields: Sequence[bytes]) -> Answer:
    options, _, *parts = fields
    made = link_parts([Part.from_bytes(part) for part in parts], options.decode())
    if isinstance(made, Part):
        return Answer().add(0, made.log, LIBRARY, made.to_bytes(), 0, b"", b"", 0)
    return _checked(made)


def _load(fields: Sequence[bytes]) -> Answer:
    try:
        return _executable(ProgramSource.from_bytes(fields[1]))
    except (ValueError, KeyError, TypeError):
        return Answer().add(INVALID_BINARY, "", 0, b"", 0, b"", b"", 0)


_MAKERS: dict[str, Callable[[Sequence[bytes]], Answer]] = {
    "build": _build,
    "compile": _compile,
    "link": _link,
    "load": _load,
}


def _checked(program: ProgramSource) -> Answer:
    check_defined(program)
    return _executable(program)


def _executable(program: ProgramSource) -> Answer:
    scope = program.scope
    pointers = b"".join(NUMBER.pack(n) for pair in scope.pointers for n in pair)
    made = Answer().add(0, program.log, EXECUTABLE, program.to_bytes(), len(scope.data), scope.data, pointers)
    made.add(len(program.kernels))
    uniform = program.options.version < 200 or "-cl-uniform-work-group-size" in program.options.clang
    for kernel in program.kernels.values():
        _add_kernel(made, kernel, uniform)
    return made


def _add_kernel(made: Answer, kernel: KernelInfo, uniform: bool) -> None:
    required = kernel.required_size or (0, 0, 0)
    made.add(kernel.name, attributes_text(kernel), *required, kernel.local_bytes, kernel.private_bytes)
    made.add(kernel.sub_group_size, int(not uniform), len(kernel.arguments))
    for argument in kernel.arguments:
        _add_argument(made, argument)


def _add_argument(made: Answer, argument: ArgumentInfo) -> None:
    qualifiers = sum(1 << k for k, name in enumerate(_QUALIFIERS) if name in argument.qualifiers)
    element = int(argument.element[1:]) if argument.element else argument.size
    lanes = argument.lanes if argument.passing is Passing.VALUE else 1
    made.add(
        argument.name, argument.type_name, _SPACES.index(argument.address_space), _ACCESSES.index(argument.access),
        qualifiers, _PASSINGS.index(argument.passing), argument.size, argument.align, element, lanes,
    )  # fmt: skip


def attributes_text(kernel: KernelInfo) -> str:
    """``CL_KERNEL_ATTRIBUTES``: the attributes in the source, separated by spaces."""
    texts = []
    for name, sizes in (
        ("reqd_work_group_size", kernel.required_size),
        ("work_group_size_hint", kernel.size_hint),
    ):
        if sizes is not None:
            texts.append(f"{name}({','.join(map(str, sizes))})")
    if kernel.vector_hint:
        texts.append(f"vec_type_hint({kernel.vector_hint})")
    return " ".join(texts)


@functools.lru_cache(_KEPT_PROGRAMS)
def _built(program: bytes) -> Built:
    return Built(ProgramSource.from_bytes(program))


def _prepared(fields: Sequence[bytes]) -> Answer:
    program, name, *numbers = fields
    x, y, z, large, placed, apart = (NUMBER.unpack(n)[0] for n in numbers[:6])
    try:
        known = known_lengths(numbers[6:])
        kind = LaunchKind((x, y, z), bool(large), bool(placed), bool(apart), known)
        code = _built(program).code(name.decode(), kind)
        return code_answer(code, (x, y, z))
    except WeftError as error:
        return no_code(OUT_OF_RESOURCES, str(error))
    except Exception:
        return no_code(OUT_OF_RESOURCES, f"an error of its own\n{traceback.format_exc()}")


def _checked_launch(fields: Sequence[bytes]) -> Answer:
    from weft.opencl.checked_launch import HostLaunch, Region, run_checked

    program, name, *numbers = fields[:10]
    placed, gx, gy, gz, x, y, z, dynamic = (NUMBER.unpack(n)[0] for n in numbers)
    slots, *rest = fields[10:]
    regions = [
        Region(NUMBER.unpack(address)[0], name.decode(), data)
        for address, name, data in zip(rest[::3], rest[1::3], rest[2::3], strict=True)
    ]
    launch = HostLaunch(name.decode(), bool(placed), (gx, gy, gz), (x, y, z), dynamic, slots, regions)
    status, message, printed, contents = run_checked(_built(program).source, launch)
    return Answer().add(status, message, printed, *contents)


def main() -> None:
    """Serve the driver whose socket is the standard input."""
    serve_host(answer)


if __name__ == "__main__":
    sys.exit(main())
