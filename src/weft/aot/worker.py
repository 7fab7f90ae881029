"""Makes the code of a file for one level: ``python -m weft.aot.worker FILE FOLDER NAMES``, under ``WEFT_CPU``.

What a processor has is settled for a process. So `weft.aot.build` runs one for each level.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from msgspec.structs import replace

from weft.aot.importing import import_file
from weft.aot.interface import (
    FUNCTION,
    KERNEL,
    PLAIN,
    UFUNC,
    Export,
    Made,
    Parameter,
    c_name,
    opencl_parameter,
    parameter,
    results_of,
)
from weft.cuda.build import lower as lower_kernel
from weft.cuda.kernel import Kernel
from weft.diag.errors import ArgumentError, SignatureError, UnsupportedError, WeftError
from weft.diag.source import SourceSpan
from weft.frontend.clang import SUFFIXES
from weft.frontend.python.types import KernelType, Scalar, Tuple, array_type, tuple_type
from weft.ir.function import GlobalVariable
from weft.loops.build import lower as lower_function
from weft.loops.c_header import c_declaration
from weft.loops.elementwise import VectorizedFunction
from weft.loops.elementwise_loops import along_line
from weft.loops.jit_function import JitFunction
from weft.loops.llvm_ir import read_source, vectorize_ir
from weft.opencl.program import Program
from weft.options import Overlap, Timings
from weft.passes.lower_kernel import LoweredKernel
from weft.passes.lower_kernel import lower_kernel as lower_module
from weft.runtime.printing import PRINT_SYMBOL
from weft.target.machine import TargetSpec, emit_object
from weft.target.passes import WHOLE, Pipeline
from weft.target.reading import read_foreign

_KINDS = {"shape": "ValueError", "memory": "MemoryError"}
"""What the errors of arrays that cannot be made are called in a library."""


class Worker:
    """Makes objects in a folder.

    Parameters
    ----------
    folder
        Where they go.
    level
        What their symbols begin with.
    """

    def __init__(self, folder: Path, level: str) -> None:
        self._folder = folder
        self._level = level
        self._spec = TargetSpec.chosen()
        self.made = Made()

    def python(self, module: ModuleType, wanted: list[str]) -> None:
        """Make kernels, functions and elementwise functions of a module.

        Raises
        ------
        SignatureError
            There are none that have been declared for some types, or one of `wanted` is none.
        """
        found = dict(_exported(module))
        for name in wanted:
            if name not in found:
                raise SignatureError(
                    f"{module.__file__} has no compiled {name!r}", hint=f"it has {', '.join(found) or 'none'}"
                )
        for name, what in found.items():
            if wanted and name not in wanted:
                continue
            try:
                self._add(name, what)
            except WeftError as error:
                code = what.py_func.__code__
                raise error.at(SourceSpan(code.co_filename, code.co_firstlineno)) from None
        if not self.made.exports:
            raise SignatureError(
                f"{module.__file__} has nothing to build",
                hint='declare kernels and functions with signatures: @cuda.jit("void(float32[::1])")',
            )

    def _add(self, name: str, what: Kernel | JitFunction | VectorizedFunction) -> None:
        if isinstance(what, VectorizedFunction):
            for number, signature in enumerate(what.signatures):
                types = tuple(t for t in signature.args if isinstance(t, Scalar))
                self._add_ufunc(name, what, number, types)
            return
        several = len(what.overloads) > 1
        for number, types in enumerate(what.overloads):
            own = f"{name}_{number}" if several else name
            if isinstance(what, Kernel):
                self._add_kernel(own, what, types)
            else:
                self._add_function(own, what, types, what.overloads[types].declared)

    def _add_kernel(self, name: str, kernel: Kernel, types: tuple[KernelType, ...]) -> None:
        # For launches of any size, whatever their arrays are.
        options = replace(kernel.options, whole_rows=False, arrays_apart=False, small_arrays=False)
        lowered, _ = lower_kernel(kernel.py_func, types, options, Timings())
        prints = self._emit(name, lowered.text, lowered.entry, lowered.pipeline)
        names = kernel.py_func.__code__.co_varnames
        parameters = tuple(parameter(n, t) for n, t in zip(names, types, strict=False))
        self.made.exports.append(_kernel(name, lowered, parameters, prints))

    def _add_function(
        self, name: str, function: JitFunction, types: tuple[KernelType, ...], declared: KernelType | None
    ) -> None:
        options = replace(function.options, small_arrays=False, overlap=Overlap.ANY)
        lowered, results, _ = lower_function(function.py_func, types, declared, options, Timings())
        prints = self._emit(name, lowered.text, lowered.entry, WHOLE)
        names = function.py_func.__code__.co_varnames
        returned = results_of(results.type)
        self.made.exports.append(
            Export(
                name,
                FUNCTION,
                name,
                tuple(parameter(n, t) for n, t in zip(names, types, strict=False)),
                returned,
                isinstance(results.type, Tuple),
                tuple(_said(kind, text) for kind, text, *_ in results.errors),
                lowered.heap or any(r.ndim >= 0 for r in returned),
                prints,
                lowered.parallel,
            )
        )

    def _add_ufunc(
        self, name: str, function: VectorizedFunction, number: int, types: tuple[Scalar, ...]
    ) -> None:
        result = function.result_type(types)
        loop = along_line(function.py_func)
        symbols: list[str] = []
        parallel = prints = False
        for layout, suffix in (("C", "line"), ("A", "strided")):
            items = tuple(array_type(t, 1, layout, readonly=True) for t in types)
            arguments = (tuple_type(items), array_type(result, 1, layout))
            lowered, _, _ = lower_function(loop, arguments, None, function.options, Timings())
            if lowered.heap:
                raise UnsupportedError(
                    f"{name} raises errors or makes arrays, which elementwise functions of libraries cannot",
                    hint="build a function of weft.jit that has the loop",
                )
            symbols.append(f"{name}_{number}_{suffix}")
            prints = self._emit(symbols[-1], lowered.text, lowered.entry, WHOLE)
            parallel |= lowered.parallel
        names = function.py_func.__code__.co_varnames
        own = name if len(function.signatures) == 1 else f"{name}_{number}"
        inputs = [
            parameter(n, array_type(t, 1, "C", readonly=True)) for n, t in zip(names, types, strict=False)
        ]
        out = parameter("out", array_type(result, 1, "C"))
        self.made.exports.append(
            Export(
                own,
                UFUNC,
                symbols[0],
                (*inputs, out),
                prints=prints,
                parallel=parallel,
                strided=symbols[1],
                declaration=name,
            )
        )

    def opencl(self, file: Path, wanted: list[str]) -> None:
        """Make the kernels of a program in OpenCL C."""
        program = Program(file)
        names = wanted or program.kernel_names
        if not names:
            raise ArgumentError(f"{file} defines no kernel")
        for name in names:
            kernel = program.kernel(name)
            options = replace(
                kernel.options, whole_rows=False, arrays_apart=False, array_begins=False, small_arrays=False
            )
            lowered = lower_module(kernel.origin.module(False), kernel.origin.symbol, options, self._spec)
            own = c_name(name)
            prints = self._emit(own, lowered.text, lowered.entry, lowered.pipeline)
            parameters = tuple(opencl_parameter(a) for a in kernel.info.arguments)
            self.made.exports.append(replace(_kernel(own, lowered, parameters, prints), is_opencl=True))
        scope = program.source.scope
        self.made.scope, self.made.pointers = scope.data.hex(), list(scope.pointers)

    def c(self, file: Path, wanted: list[str]) -> None:
        """Make the functions of a C or C++ file, with those of their loops in lanes that are found to be parallel."""
        text, _ = read_source(file, self._spec, ())
        module, text = read_foreign(text, str(file))
        functions = [
            f for f in module.definitions() if f.linkage.linkage == "" and (not wanted or f.name in wanted)
        ]
        if not functions:
            raise ArgumentError(f"{file} defines no function to build")
        for function in functions:
            declaration = c_declaration(function)
            if declaration is None:
                raise UnsupportedError(f"C has no type for a parameter or the result of {function.name}")
            text = vectorize_ir(text, function.name, loop="auto").text
            self.made.exports.append(
                Export(function.name, PLAIN, function.name, declaration=declaration.splitlines()[-1])
            )
        # Each level has its own of everything, so that one of them is whole.
        for own in (*module.definitions(), *module.globals.values()):
            declared = own.initializer is None if isinstance(own, GlobalVariable) else own.is_declaration
            if own.linkage.linkage == "" and not declared:
                text = self._renamed(text, own.name, own.name)
        self._write("functions", text, WHOLE)

    def _emit(self, name: str, text: str, entry: str, passes: Pipeline) -> bool:
        """Write the code of an export; whether it prints."""
        own = re.sub(rf'@"?{re.escape(PRINT_SYMBOL)}(?:"|(?![-\w$.]))', "@weft_print", text)
        self._write(name, self._renamed(own, entry, name), passes)
        return own != text

    def _renamed(self, text: str, name: str, symbol: str) -> str:
        """The module with one of its functions under the symbol of an export."""
        old = re.escape(name)
        return re.sub(rf'@(?:"{old}"|{old}(?![-\w$.]))', f"@weft_{self._level}_{symbol}", text)

    def _write(self, name: str, text: str, passes: Pipeline) -> None:
        file = self._folder / f"{self._level}_{name}.o"
        file.write_bytes(emit_object(text, self._spec, passes))
        self.made.objects.append(file.name)


def _said(kind: str, message: str | None) -> tuple[str, str]:
    """An error as a library tells it: the name of its class, and its message."""
    return _KINDS.get(kind, kind.rpartition(":")[2]), message or ""


def _kernel(name: str, lowered: LoweredKernel, parameters: tuple[Parameter, ...], prints: bool) -> Export:
    """A kernel that has been lowered."""
    x, y, z = [*lowered.arena.lanes, 1, 1, 1][:3]
    unit = lowered.run_unit
    return Export(
        name,
        KERNEL,
        name,
        parameters,
        prints=prints,
        arena=(lowered.arena.fixed, lowered.arena.per_lane_group, x, y, z),
        run_unit=(unit.width, unit.dimension, -1 if unit.size is None else unit.size, unit.rows, unit.across),
    )


def _exported(module: ModuleType) -> Iterator[tuple[str, Kernel | JitFunction | VectorizedFunction]]:
    """What a module defines and has been declared for some types."""
    for name, value in vars(module).items():
        if isinstance(value, Kernel | JitFunction):
            compiled = bool(value.overloads)
        elif isinstance(value, VectorizedFunction):
            compiled = bool(value.signatures)
        else:
            continue
        if compiled and value.py_func.__code__.co_filename == module.__file__:
            yield c_name(name), value


def main(file: str, folder: str, level: str, wanted: list[str]) -> int:
    """Make the code; what was made is told as JSON in the folder, and an error on the standard error stream."""
    worker = Worker(Path(folder), level)
    try:
        if Path(file).suffix in SUFFIXES:
            worker.c(Path(file), wanted)
        elif Path(file).suffix == ".cl":
            worker.opencl(Path(file), wanted)
        else:
            worker.python(import_file(Path(file)), wanted)
    except WeftError as error:
        print(error, file=sys.stderr)
        return 1
    Path(folder, f"{level}.json").write_text(json.dumps(worker.made.as_data()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]))
