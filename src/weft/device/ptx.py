"""PTX of kernels in a C dialect."""

from __future__ import annotations

from weft.device.origin import Origin
from weft.diag.errors import UnsupportedError
from weft.ir.intrinsics import asks_for_lanes
from weft.machine.gpus import WARP
from weft.ptx_kernel import PtxKernel, ptx_of_module
from weft.switches import DEFAULT_REPLACEMENT


def ptx_of(
    origin: Origin,
    arch: str,
    *,
    lines: bool = True,
    max_registers: int | None = None,
    scalar_replacement: str = DEFAULT_REPLACEMENT,
) -> PtxKernel:
    """Compile a kernel to PTX, as `weft.cuda.to_ptx.ptx_of` does.

    Its parameters are the slots of its arguments, behind them what the door adds: the address of program-scope
    variables and the number of dimensions, for OpenCL C.

    Raises
    ------
    UnsupportedError
        The kernel uses something that a GPU does not have, or sub-groups of another size than a warp.
    SettingError
        There is no such architecture.
    """
    module = origin.module(small=False)
    require_warps(origin, asks_for_lanes(module))
    kernel = module.functions[origin.symbol]
    types = {argument.name: argument.type_name for argument in origin.info.arguments}
    about = [types.get(a.name.split(".")[0], str(a.type)) for a in kernel.args]
    return ptx_of_module(
        module,
        kernel,
        about,
        arch,
        lines=lines,
        max_registers=max_registers,
        scalar_replacement=scalar_replacement,
    )


def require_warps(origin: Origin, asks: bool) -> None:
    """See that lanes of the kernel, if it `asks` for them, are those of a warp.

    Raises
    ------
    UnsupportedError
        They are not.
    """
    size = origin.info.sub_group_size
    if asks and size != WARP:
        raise UnsupportedError(
            f"{origin.info.name} has sub-groups of {size} work-items, and a GPU warps of {WARP}",
            hint=f"write __attribute__((intel_reqd_sub_group_size({WARP}))) before the kernel",
        )
