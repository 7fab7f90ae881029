"""The decorator ``cuda.jit``."""

from __future__ import annotations

from collections.abc import Sequence, Set
from types import FunctionType
from typing import Any

from weft.cuda.device_function import DeviceFunction
from weft.cuda.kernel import Kernel
from weft.cuda.terms import launch_terms
from weft.diag.call_site import located
from weft.diag.errors import SignatureError
from weft.fast_math import fast_math
from weft.frontend.python.signatures import parse_signature
from weft.frontend.python.types import Signature
from weft.frontend.python.wording import python_function
from weft.options import CompileOptions, kernel_brush, require_lane_options
from weft.runtime.tuning import require_tune
from weft.switches import DEFAULT_REPLACEMENT, SWITCHES, switches

_IGNORED = frozenset({"opt", "lineinfo", "inline", "forceinline", "cache", "bind", "boundscheck", "lto"})
"""Options of numba.cuda that ask for nothing here: code is always optimized, located and cached."""

TARGETS = ("cpu", "gpu")
"""Where launches may run."""

WIDTHS = (1, 2, 4, 8, 16, 32, 64)
"""Threads that a lane group may have: powers of two, for which masks are values of at most 64 bits."""


@located
def jit(
    func_or_sig: Any = None,
    argtypes: Any = None,
    *,
    device: bool = False,
    debug: bool = False,
    fastmath: bool | Set[str] = False,
    width: int | None = None,
    brush: Sequence[int] | str | None = None,
    projection: Sequence[int] | str | None = None,
    tune: str | None = None,
    boscc: str = "auto",
    uniform_values: bool = True,
    uniform_control: bool = True,
    scalar_counters: bool = True,
    scalar_replacement: str = DEFAULT_REPLACEMENT,
    without: Sequence[str] = (),
    target: str = "cpu",
    max_registers: int | None = None,
    launch_bounds: int | tuple[int, ...] | None = None,
    extensions: Sequence[Any] = (),
    shared_memory_carveout: int | str | None = None,
    link: Sequence[Any] | None = None,
    **options: Any,
) -> Any:
    """Make a kernel, or with ``device=True`` a function for kernels to call.

    Used as ``@cuda.jit``, ``@cuda.jit(option=...)``, or with a signature (or a list of them) that is compiled at
    once: ``@cuda.jit("void(float32[:], int32)")``.

    Parameters
    ----------
    func_or_sig
        The function, or signatures (of a device function, whose arguments and results are converted to those of the
        one that fits best): `weft.types` signatures, tuples of types, numba's notation as text.
    argtypes
        Argument types, as an older spelling of a signature.
    device
        Whether it is a device function.
    debug
        Run on the checking interpreter: out-of-bounds and misaligned accesses, data races, barriers reached by
        part of a group, uninitialized reads and more raise `weft.errors.SanitizerError` with the source line.
    fastmath
        Whether floating-point operations may be contracted and reassociated and assume finite values; or the set of
        LLVM's fast-math flags that they get, as in numba.
    width
        Threads in a lane group, a power of two; 1 runs thread after thread. weft chooses by default.
    brush, projection
        Threads in a lane group along z, y and x, or y and x, as ``(4, 16)`` or ``"4x16"``; and in which order these
        dimensions fill the lanes, ``(1, 0)`` with x fastest (docs/tensors.md). ``"auto"`` leaves it to weft, as
        None does.
    tune
        ``"measure"``: several widths, and boxes of threads, run on copies of the first launch's arguments, and the
        fastest is taken, in later processes, too. The kernel runs some times for that, with all that it prints. It is
        for kernels on the CPU without declared signatures.
    boscc
        Branches around code that no thread of a lane group takes: ``"off"``, ``"auto"`` where weft expects them to
        pay, ``"on"`` wherever threads diverge.
    uniform_values, uniform_control, scalar_counters
        Set to false, parts of vectorization are left out, to see what each is worth (`weft.switches.Switches`).
    scalar_replacement
        Loads replaced by values that are known, within and across iterations: ``"off"``, ``"srqp"``, ``"esrqp"``,
        ``"ssrqp"`` or ``"ssrqp_s"`` (docs/scalar_replacement.md has the default).
    without
        Optional passes to leave out, by name: ``("boscc", "narrowing")``. ``weft passes`` lists them.
    target
        ``"cpu"``, or ``"gpu"``: launches run on an NVIDIA GPU, through its driver (docs/ptx.md).
    max_registers
        Registers of a thread on a GPU; no effect on a CPU.
    launch_bounds
        Threads that a block may have: launches with more are refused. Of a tuple, what follows has no effect.
    extensions
        Objects with ``prepare_args(type, value, stream=0, retr=list)``, which returns a type and a value: they change
        the arguments of each launch, the last one first, and may add functions to `retr` that are called afterwards.
    shared_memory_carveout, link
        Accepted, with a remark; no effect on a CPU.
    **options
        Options of numba.cuda that have no effect here (``opt``, ``lineinfo``, ``inline``, ...).

    Raises
    ------
    SignatureError
        An option is unknown, or a signature is none.
    SettingError
        An option has a value that it cannot have.
    PassError
        There is no optional pass of a name in `without`.
    """
    unknown = sorted(set(options) - _IGNORED)
    if unknown:
        raise SignatureError(
            f"cuda.jit has no option {', '.join(unknown)}",
            hint="options are boscc, brush, debug, device, extensions, fastmath, launch_bounds, max_registers, "
            f"projection, target, tune, width, {SWITCHES}",
        )
    if target not in TARGETS:
        raise SignatureError(f"target={target!r}", hint=f"it may be {' or '.join(map(repr, TARGETS))}")
    if target == "gpu" and debug:
        raise SignatureError("debug=True is for kernels on a CPU", hint="leave out target='gpu'")
    flags = fast_math(fastmath)
    require_lane_options(width, boscc)
    chosen_switches = switches(uniform_values, uniform_control, scalar_counters, scalar_replacement, without)
    box = kernel_brush(brush, projection, width)
    measured = require_tune(
        tune,
        width is None
        and box is None
        and target == "cpu"
        and not (device or _is_declared(func_or_sig, argtypes)),
        'it is "measure", for kernels on the CPU without signatures, width= or brush=, or None',
    )
    asked = CompileOptions(flags, width, boscc=boscc, switches=chosen_switches, brush=box)
    terms = launch_terms(extensions, launch_bounds, shared_memory_carveout, link)

    def make(function: FunctionType, signatures: tuple[Signature, ...]) -> Kernel | DeviceFunction:
        if device:
            return DeviceFunction(function, signatures)
        if target == "gpu":
            from weft.cuda.gpu.kernel import GpuKernel

            return GpuKernel(function, asked, signatures, max_registers, terms=terms)
        return Kernel(function, asked, signatures, debug, terms, measured)

    if isinstance(func_or_sig, FunctionType):
        return make(func_or_sig, ())
    signatures = _signatures(func_or_sig if argtypes is None else argtypes)

    @located
    def decorate(function: Any) -> Kernel | DeviceFunction:
        function = python_function(function)
        return make(function, signatures)

    return decorate


def _is_declared(func_or_sig: Any, argtypes: Any) -> bool:
    """Whether signatures are given."""
    return argtypes is not None or not (func_or_sig is None or isinstance(func_or_sig, FunctionType))


def _signatures(given: Any) -> tuple[Signature, ...]:
    if given is None:
        return ()
    return tuple(map(parse_signature, given if isinstance(given, list) else [given]))
