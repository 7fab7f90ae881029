"""The decorator ``weft.vectorize``: a function of numbers becomes one of arrays."""

from __future__ import annotations

from collections.abc import Sequence, Set
from types import FunctionType
from typing import Any

from weft.diag.call_site import located
from weft.diag.errors import SignatureError
from weft.frontend.python.signatures import parse_signature
from weft.frontend.python.wording import python_function
from weft.jit_options import jit_options
from weft.loops.elementwise import VectorizedFunction
from weft.switches import DEFAULT_REPLACEMENT, SWITCHES, switches


@located
def vectorize(
    signatures: Any = None,
    *,
    fastmath: bool | Set[str] = False,
    width: int | None = None,
    boscc: str = "auto",
    debug: bool = False,
    uniform_values: bool = True,
    uniform_control: bool = True,
    scalar_counters: bool = True,
    scalar_replacement: str = DEFAULT_REPLACEMENT,
    without: Sequence[str] = (),
    identity: Any = None,
    **options: Any,
) -> Any:
    """Make an elementwise function; used as ``@weft.vectorize``, or with a list of signatures.

    Parameters
    ----------
    signatures
        The function, or signatures such as ``"float32(float32, float32)"``: arguments are converted, where that is
        safe, to those of the first that takes them. Without signatures the function is compiled for the types of
        its arguments as they come.
    fastmath
        Whether floating-point operations may be contracted and reassociated and assume finite values.
    width
        Elements at a time, a power of two; weft chooses by default.
    boscc
        Branches around code that no element of a lane group takes, as for `weft.jit`.
    debug
        Check as the code runs, as for `weft.jit`.
    uniform_values, uniform_control, scalar_counters
        Set to false, parts of vectorization are left out, to see what each is worth (`weft.switches.Switches`).
    scalar_replacement
        Loads replaced by values that are known, within and across iterations: ``"off"``, ``"srqp"``, ``"esrqp"``,
        ``"ssrqp"`` or ``"ssrqp_s"`` (docs/scalar_replacement.md has the default).
    without
        Optional passes to leave out, by name: ``("boscc", "narrowing")``. ``weft passes`` lists them.
    identity
        What ``function.reduce`` gives for no elements.
    **options
        Options of numba's that have no effect here (``target``, ``cache``, ``nopython``).

    Returns
    -------
    VectorizedFunction

    Raises
    ------
    SignatureError
        An option is unknown, or a signature is none.
    PassError
        There is no optional pass of a name in `without`.
    """
    unknown = sorted(set(options) - {"target", "cache", "nopython"})
    if unknown:
        raise SignatureError(
            f"weft.vectorize has no option {', '.join(unknown)}",
            hint=f"options are boscc, debug, fastmath, width, {SWITCHES}",
        )
    chosen_switches = switches(uniform_values, uniform_control, scalar_counters, scalar_replacement, without)
    chosen = jit_options(fastmath, width, boscc, debug=debug, switches=chosen_switches)
    if isinstance(signatures, FunctionType):
        return VectorizedFunction(signatures, (), chosen, identity)
    given = [] if signatures is None else signatures if isinstance(signatures, list) else [signatures]

    @located
    def decorate(function: Any) -> VectorizedFunction:
        function = python_function(function)
        return VectorizedFunction(function, tuple(map(parse_signature, given)), chosen, identity)

    return decorate
