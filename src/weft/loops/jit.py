"""The decorator ``weft.jit``: functions on numbers and arrays whose loops over `prange` run in lanes and on all cores.

As numba's: a function is compiled for the types of its arguments at the first call with them, functions call each
other, and without a parallel loop it runs as it is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from types import FunctionType
from typing import Any

from msgspec.structs import replace

from weft.brush import AUTO, brush_of
from weft.diag.call_site import located
from weft.diag.errors import SignatureError
from weft.frontend.python.local_types import local_types
from weft.frontend.python.signatures import parse_signature
from weft.frontend.python.wording import python_function
from weft.jit_options import Tried, jit_options
from weft.loops.jit_function import JitFunction
from weft.options import Overlap
from weft.runtime.tuning import require_tune
from weft.switches import DEFAULT_REPLACEMENT, SWITCHES, switches

PARALLEL = (True, False, "if-legal", "auto")


@located
def jit(
    func_or_sig: Any = None,
    *,
    parallel: bool | str = True,
    fastmath: bool | Set[str] = False,
    width: int | None = None,
    brush: Sequence[int] | str | bool | None = None,
    projection: Sequence[int] | str | None = None,
    tune: str | None = None,
    boscc: str = "auto",
    debug: bool = False,
    uniform_values: bool = True,
    uniform_control: bool = True,
    scalar_counters: bool = True,
    scalar_replacement: str = DEFAULT_REPLACEMENT,
    without: Sequence[str] = (),
    locals: Mapping[str, Any] | None = None,
    **options: Any,
) -> Any:
    """Compile a function; used as ``@weft.jit``, ``@weft.jit(option=...)`` or with a signature.

    Parameters
    ----------
    func_or_sig
        The function, or a signature to compile for at once, as for `weft.cuda.jit`.
    parallel
        ``"auto"`` runs plain loops over `range` in parallel, too, where they are found to be; results stay what they
        are, but for the order of float sums that `fastmath` allows. With islpy (``pip install 'weft[loops]'``) more
        loops are found.
        ``"if-legal"`` runs a loop over `weft.prange` in order, with a remark, where its iterations are not found
        independent; by default the user's promise is relied on, and a loop that certainly breaks it is refused.
        False runs all on the thread that calls, and `weft.prange` as `range`: in lanes where that changes no result.
    fastmath
        Whether floating-point operations may be contracted and reassociated and assume finite values. Sums and
        products over a `prange` are reassociated in any case.
    width
        Iterations at a time, a power of two.
    brush, projection
        Iterations at a time along each loop of a nest of `prange`, outermost first: ``(4, 16)`` or ``"4x16"``, or
        ``"auto"``, which lets the cost model choose, as it does by default where there is no `width`; False for the
        innermost loop alone. And in which order they fill the lanes, ``(1, 0)`` with the inner loop fastest
        (docs/tensors.md).
    tune
        ``"measure"``: several widths, or with ``brush="auto"`` the model's best few brushes, run on copies of the first
        call's arguments, and the fastest is taken, in later processes, too. The function runs some times for that, with
        all that it prints. It is for functions without declared signatures.
    boscc
        Branches around code that no iteration of a lane group takes: ``"off"``, ``"auto"`` (where it is expected to
        pay) or ``"on"`` (wherever they disagree).
    debug
        Check as the code runs: AssertionError, ZeroDivisionError, IndexError and UnboundLocalError are raised with the
        line in their notes. Without it ``assert`` is dropped.
    uniform_values, uniform_control, scalar_counters
        Set to false, parts of vectorization are left out, to see what each is worth (`weft.switches.Switches`).
    scalar_replacement
        Loads replaced by values that are known, within and across iterations: ``"off"``, ``"srqp"``, ``"esrqp"``,
        ``"ssrqp"`` or ``"ssrqp_s"`` (docs/scalar_replacement.md has the default).
    without
        Optional passes to leave out, by name: ``("boscc", "narrowing")``. ``weft passes`` lists them.
    locals
        Types of variables by name, where these are to be numbers of another type than what is assigned to them:
        ``{"total": weft.float32}``. What is assigned is converted.
    **options
        Options of numba's that have no effect here (``cache``, ``nogil``, ``nopython``).

    Raises
    ------
    SignatureError
        An option is unknown, a signature is none, or a variable's type is none of numbers.
    PassError
        There is no optional pass of a name in `without`.

    See Also
    --------
    docs/sequential_loops.md : which loops ``parallel="auto"`` finds, and what it tests as they run.
    """
    unknown = sorted(set(options) - {"cache", "nogil", "nopython", "inline", "boundscheck", "error_model"})
    if unknown:
        raise SignatureError(
            f"weft.jit has no option {', '.join(unknown)}",
            hint=f"options are boscc, brush, debug, fastmath, locals, parallel, projection, tune, width, {SWITCHES}",
        )
    if parallel not in PARALLEL:
        raise SignatureError(f"parallel={parallel!r}", hint='it is True, False, "if-legal" or "auto"')
    box = brush_of(None if brush is False else brush, projection, width=width)
    measured = require_tune(
        tune,
        width is None
        and box in (None, AUTO)
        and (func_or_sig is None or isinstance(func_or_sig, FunctionType)),
        'it is "measure", without signatures, width= or a brush that is given, or None',
    )
    tried: Tried | None = None
    if measured:
        tried = "brushes" if box == AUTO else "widths"
    if brush is None and width is None:
        box = AUTO
    chosen_switches = switches(uniform_values, uniform_control, scalar_counters, scalar_replacement, without)
    chosen = jit_options(
        fastmath,
        width,
        boscc,
        parallel in (False, "if-legal"),
        parallel == "auto",
        parallel is not False,
        debug,
        chosen_switches,
        box,
        tried,
    )
    declared = local_types(locals or {})
    chosen = replace(chosen, small_arrays=True, overlap=Overlap.NONE)
    if isinstance(func_or_sig, FunctionType):
        return JitFunction(func_or_sig, chosen, (), declared)
    signatures = (
        [] if func_or_sig is None else func_or_sig if isinstance(func_or_sig, list) else [func_or_sig]
    )

    @located
    def decorate(function: Any) -> JitFunction:
        function = python_function(function)
        return JitFunction(function, chosen, tuple(map(parse_signature, signatures)), declared)

    return decorate


njit = jit
"""By numba's name: there is no other mode than this one."""
