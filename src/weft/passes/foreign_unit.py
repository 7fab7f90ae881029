"""A function of another compiler's on its way through the passes."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import field

from weft.analysis.shapes import Shape, Signature
from weft.ir import Function, Value
from weft.ir.function import Linkage
from weft.passes.adopt import chosen_function
from weft.passes.loop_unit import LoopUnit
from weft.passes.stages import Form, Runnable, Stage
from weft.transform.foreign.scalar_signatures import needs_scalar_form


class ForeignUnit(LoopUnit, kw_only=True):
    """A function of LLVM IR, or a module of which no function is wanted.

    Parameters
    ----------
    wanted
        The function that gets a scalar form if it needs one, and stays even if nothing calls it; empty for none.

    Attributes
    ----------
    linkage
        The linkage that the source gave it.
    """

    wanted: str = ""
    linkage: Linkage | None = None

    @property
    def function(self) -> Function:
        """The function.

        Raises
        ------
        ArgumentError
            LLVM has dropped it, as nothing calls it.
        """
        return chosen_function(self.module, self.name)


class ForeignLoopUnit(ForeignUnit, kw_only=True):
    """A function whose parallel loops become SIMD code.

    Parameters
    ----------
    which
        ``auto``: the best loop for lanes of each nest that is found to be parallel; ``outermost``: all outermost loops;
        ``annotated``: those that metadata asks vector code for; the name of one loop's header, which is a promise that
        its iterations are independent, and with a brush those of the loops in it, too; ``nest``: all outermost loops,
        with that promise.
    fastmath
        Whether float sums may be formed in another order.
    """

    which: str
    fastmath: bool = False

    @property
    def plain_loops(self) -> bool:
        return self.which == "auto"


class ForeignFunctionUnit(ForeignUnit, kw_only=True):
    """A function for one lane that gets one for W lanes beside it.

    Parameters
    ----------
    shapes
        The shapes of the parameters, as `signature` has them.
    signature
        The shapes that the user gives.
    simd_name
        The SIMD function's name; empty for that of the vector function ABI.
    masked
        Whether it takes a mask as last parameter.
    scalar_result
        Whether a uniform result is returned as one value, not as a vector.
    subject
        How remarks call the function.
    reason
        Why so many lanes, as remarks say it.
    runnable
        What is to become the SIMD function, once there is such a thing, and how it is run.
    """

    shapes: Mapping[Value, Shape] = field(default_factory=dict)
    signature: Signature = field(default_factory=lambda: Signature(()))
    simd_name: str = ""
    masked: bool = False
    scalar_result: bool = True
    subject: str = ""
    reason: str = "as asked for"
    runnable: Runnable | None = None

    def stage(self, name: str, text: str) -> Stage | None:
        """How the program is run as it is now: the function that is to become the SIMD function, once there is one."""
        if needs_scalar_form(self.function):
            # Its parameters are not those that the function in lanes has.
            return None
        runnable = self.runnable or Runnable(self.name, Form.THREADS)
        return Stage(name, text, runnable, runnable.function, width=self.width or 0)

    @property
    def simd(self) -> Function:
        """The SIMD function."""
        return self.module.functions[self.simd_name]
