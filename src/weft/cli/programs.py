"""Finding the kernels of a Python file."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from weft.cuda.kernel import Kernel
from weft.diag.errors import SignatureError
from weft.diag.source import SourceSpan
from weft.frontend.python.compile import FrontendResult, compile_python
from weft.frontend.python.signatures import parse_signature
from weft.frontend.python.types import KernelType, Signature
from weft.loops.jit_function import JitFunction


def kernels_of(module: ModuleType, names: Sequence[str]) -> dict[str, Kernel]:
    """The kernels of a module in the order of their source: those named, or all that the file defines.

    Raises
    ------
    SignatureError
        A name is that of no kernel, or there are no kernels.
    """
    found = {name: value for name, value in vars(module).items() if isinstance(value, Kernel)}
    for name in names:
        if name not in found:
            raise SignatureError(
                f"{module.__file__} has no kernel {name!r}",
                hint=f"it has {', '.join(found)}" if found else "kernels are functions under @cuda.jit",
            )
    if names:
        return {name: found[name] for name in names}
    own = {
        name: kernel for name, kernel in found.items() if _code(kernel).co_filename == module.__file__
    } or found
    if not own:
        raise SignatureError(
            f"{module.__file__} defines no kernel", hint="kernels are functions under @cuda.jit"
        )
    return dict(sorted(own.items(), key=lambda item: _code(item[1]).co_firstlineno))


def functions_of(module: ModuleType, names: Sequence[str]) -> dict[str, JitFunction]:
    """The functions under `weft.jit` of a module: its own, or those named."""
    found = {name: value for name, value in vars(module).items() if isinstance(value, JitFunction)}
    return {
        name: function
        for name, function in found.items()
        if (name in names if names else function.py_func.__code__.co_filename == module.__file__)
    }


def types_of_text(text: str) -> tuple[KernelType, ...]:
    """Argument types, as a signature has them."""
    parsed = parse_signature(text)
    return parsed.args if isinstance(parsed, Signature) else tuple(parsed)


def unknown_types(function: Kernel | JitFunction, option: str) -> SignatureError:
    """The error for a kernel or function whose argument types are not known; `option` chooses one."""
    code, name = function.py_func.__code__, function.py_func.__name__
    parameters = code.co_varnames[: code.co_argcount]
    return SignatureError(
        f"the argument types of {name}({', '.join(parameters)}) are not known",
        SourceSpan(code.co_filename, code.co_firstlineno),
        hint=f'give them: {option} {name} --types "void({", ".join("float32[::1]" for _ in parameters)})",'
        f" or declare the {'kernel' if isinstance(function, Kernel) else 'function'} with a signature",
    )


def compile_kernels(kernels: dict[str, Kernel], types: str | None) -> list[FrontendResult]:
    """Run the front end: for `types`, or for the signatures that the kernels were declared with.

    Kernels without a declared signature are left out where others have one.

    Raises
    ------
    SignatureError
        No kernel has a signature, or `types` does not fit.
    """
    given = None if types is None else types_of_text(types)
    results = [
        compile_python(kernel.py_func, argument_types)
        for kernel in kernels.values()
        for argument_types in ([given] if given is not None else kernel.signatures)
    ]
    if not results:
        raise unknown_types(next(iter(kernels.values())), "--function")
    return results


def compiled_types(kernel: Kernel, types: str | None) -> tuple[KernelType, ...]:
    """The argument types of one kernel: `types`, or those of the signature that it was declared with.

    Raises
    ------
    SignatureError
        It was declared with none, or with several.
    """
    if types is not None:
        return types_of_text(types)
    if len(kernel.signatures) != 1:
        raise unknown_types(kernel, "--kernel")
    return kernel.signatures[0]


def _code(kernel: Kernel) -> Any:
    return kernel.py_func.__code__
