"""What weft, other compilers and languages call the ids, sizes and barriers of a grid: one table, read both ways.

`meaning_of` tells what a function or global asks for; `names_of` tells how a dialect writes it. A front end that
translates, an analysis that takes a module as it is and a back end for another target all read this table. Of weft's
own intrinsics it has ids and sizes; `weft.ir.intrinsics` has them all.

OpenCL C functions appear under their plain name and as clang mangles them. SPIR-V has functions per dimension
(``__spirv_LocalInvocationId_x``), functions with the dimension as argument (``__spirv_BuiltInLocalInvocationId``) and
LLVM's own ``llvm.spv.*``.
"""

from __future__ import annotations

import functools
import re
from enum import Enum, StrEnum

from msgspec import Struct


class Dialect(StrEnum):
    """Where a name comes from."""

    WEFT = "weft"
    NVVM = "nvvm"
    AMDGCN = "amdgcn"
    OPENCL = "opencl"
    SPIRV = "spirv"


class Meaning(Enum):
    """What a name asks for."""

    LOCAL_ID = "local id"
    """Index of the thread in its group, along a dimension."""
    GLOBAL_ID = "global id"
    """Index of the thread in the grid, along a dimension."""
    LOCAL_LINEAR_ID = "local linear id"
    """x + bx * (y + by * z)."""
    GLOBAL_LINEAR_ID = "global linear id"
    GROUP_ID = "group id"
    """Index of the group in the grid, along a dimension."""
    LOCAL_SIZE = "local size"
    """Threads of a group, along a dimension."""
    NUM_GROUPS = "number of groups"
    """Groups of the grid, along a dimension."""
    LANE_ID = "lane id"
    """Position of the thread in its lane group (warp, wave, subgroup)."""
    LANE_COORDINATE = "lane coordinate"
    """Place of the thread in the box that its lane group is, along a dimension."""
    NUM_LANES = "number of lanes"
    """Threads of a lane group, as far as they are the same number in all of them."""
    GRID_UNIFORM = "the same for the whole grid"
    """Sizes, offsets, pointers to launch records: one value for all threads of a launch."""
    GROUP_UNIFORM = "the same for a work-group"
    LANES_UNIFORM = "the same for a lane group"
    """Results of horizontal operations: one value for all active lanes."""
    THREAD = "differs from thread to thread"
    """Lane masks, clocks, numbers of warps: nothing is known of how threads are related."""
    BARRIER = "barrier"
    """All unfinished threads of the group meet."""


class WorkItemName(Struct, frozen=True):
    """One name.

    Parameters
    ----------
    meaning
        What it asks for.
    dimension
        Of ids and sizes; None where the first argument tells (or there is none).
    dialect
        Where the name is used.
    invariant_pointer
        It points to memory that does not change while the kernel runs and is the same for the grid.
    """

    meaning: Meaning
    dialect: Dialect
    dimension: int | None = None
    invariant_pointer: bool = False


_XYZ = {
    "llvm.nvvm.read.ptx.sreg.tid": Meaning.LOCAL_ID,
    "llvm.nvvm.read.ptx.sreg.ctaid": Meaning.GROUP_ID,
    "llvm.nvvm.read.ptx.sreg.ntid": Meaning.LOCAL_SIZE,
    "llvm.nvvm.read.ptx.sreg.nctaid": Meaning.NUM_GROUPS,
    "llvm.amdgcn.workitem.id": Meaning.LOCAL_ID,
    "llvm.amdgcn.workgroup.id": Meaning.GROUP_ID,
}
"""A name for each of three dimensions, ``.x`` ``.y`` ``.z``."""

_WEFT = {
    "weft.local.id": Meaning.LOCAL_ID,
    "weft.group.id": Meaning.GROUP_ID,
    "weft.local.size": Meaning.LOCAL_SIZE,
    "weft.num.groups": Meaning.NUM_GROUPS,
    "weft.lane.id": Meaning.LANE_ID,
    "weft.lane.coordinate": Meaning.LANE_COORDINATE,
    "weft.num.lanes": Meaning.NUM_LANES,
}
"""The dimension, where there is one, is the argument."""

_BY_ARGUMENT = {
    "get_local_id": Meaning.LOCAL_ID,
    "get_global_id": Meaning.GLOBAL_ID,
    "get_group_id": Meaning.GROUP_ID,
    "get_local_size": Meaning.LOCAL_SIZE,
    "get_enqueued_local_size": Meaning.LOCAL_SIZE,
    "get_num_groups": Meaning.NUM_GROUPS,
    "get_global_size": Meaning.GRID_UNIFORM,
    "get_global_offset": Meaning.GRID_UNIFORM,
}
"""OpenCL C functions with the dimension as argument."""

_OPENCL_PLAIN = {
    "get_work_dim": Meaning.GRID_UNIFORM,
    "get_local_linear_id": Meaning.LOCAL_LINEAR_ID,
    "get_global_linear_id": Meaning.GLOBAL_LINEAR_ID,
    "get_sub_group_local_id": Meaning.LANE_ID,
    "get_sub_group_id": Meaning.THREAD,
    "get_sub_group_size": Meaning.THREAD,
    "get_max_sub_group_size": Meaning.GRID_UNIFORM,
    "get_num_sub_groups": Meaning.GROUP_UNIFORM,
}
"""OpenCL C functions without arguments."""

_SPIRV = {
    "LocalInvocationId": Meaning.LOCAL_ID,
    "GlobalInvocationId": Meaning.GLOBAL_ID,
    "WorkgroupId": Meaning.GROUP_ID,
    "WorkgroupSize": Meaning.LOCAL_SIZE,
    "EnqueuedWorkgroupSize": Meaning.LOCAL_SIZE,
    "NumWorkgroups": Meaning.NUM_GROUPS,
    "GlobalSize": Meaning.GRID_UNIFORM,
    "GlobalOffset": Meaning.GRID_UNIFORM,
}
"""SPIR-V built-in variables of three components."""

_SPIRV_SCALAR = {
    "LocalInvocationIndex": Meaning.LOCAL_LINEAR_ID,
    "GlobalLinearId": Meaning.GLOBAL_LINEAR_ID,
    "SubgroupLocalInvocationId": Meaning.LANE_ID,
    "SubgroupId": Meaning.THREAD,
    "SubgroupSize": Meaning.THREAD,
    "WorkDim": Meaning.GRID_UNIFORM,
}

_LLVM_SPIRV = {
    "llvm.spv.thread.id.in.group": Meaning.LOCAL_ID,
    "llvm.spv.thread.id": Meaning.GLOBAL_ID,
    "llvm.spv.group.id": Meaning.GROUP_ID,
    "llvm.spv.workgroup.size": Meaning.LOCAL_SIZE,
    "llvm.spv.num.workgroups": Meaning.NUM_GROUPS,
    "llvm.spv.global.size": Meaning.GRID_UNIFORM,
    "llvm.spv.global.offset": Meaning.GRID_UNIFORM,
    "llvm.spv.flattened.thread.id.in.group": Meaning.LOCAL_LINEAR_ID,
    "llvm.spv.subgroup.local.invocation.id": Meaning.LANE_ID,
    "llvm.spv.subgroup.id": Meaning.THREAD,
    "llvm.spv.subgroup.size": Meaning.THREAD,
}

_NVVM = {
    **dict.fromkeys(("gridid", "nwarpid", "nsmid"), Meaning.GRID_UNIFORM),
    "laneid": Meaning.LANE_ID,
    "warpsize": Meaning.NUM_LANES,
    **dict.fromkeys(("smid", "clusterid.x", "clusterid.y", "clusterid.z"), Meaning.GROUP_UNIFORM),
    **dict.fromkeys(("warpid", "clock", "clock64", "globaltimer"), Meaning.THREAD),
    **dict.fromkeys((f"lanemask.{kind}" for kind in ("eq", "le", "lt", "ge", "gt")), Meaning.THREAD),
}
"""Special registers without dimension, behind ``llvm.nvvm.read.ptx.sreg.``."""

_AMDGCN = {
    "llvm.amdgcn.mbcnt.lo": Meaning.THREAD,
    "llvm.amdgcn.mbcnt.hi": Meaning.THREAD,
    "llvm.amdgcn.wavefrontsize": Meaning.NUM_LANES,
    "llvm.amdgcn.dispatch.id": Meaning.GRID_UNIFORM,
    "llvm.amdgcn.groupstaticsize": Meaning.GRID_UNIFORM,
    "llvm.amdgcn.readfirstlane": Meaning.LANES_UNIFORM,
    "llvm.amdgcn.readlane": Meaning.LANES_UNIFORM,
    "llvm.amdgcn.ballot": Meaning.LANES_UNIFORM,
    "llvm.amdgcn.icmp": Meaning.LANES_UNIFORM,
    "llvm.amdgcn.fcmp": Meaning.LANES_UNIFORM,
}
"""Names that may have a type behind them (``.i32``)."""

_INVARIANT_POINTERS = (
    "llvm.amdgcn.implicitarg.ptr",
    "llvm.amdgcn.dispatch.ptr",
    "llvm.amdgcn.kernarg.segment.ptr",
    "llvm.amdgcn.queue.ptr",
)

_BARRIERS = {
    Dialect.NVVM: (
        "llvm.nvvm.barrier0",
        "llvm.nvvm.barrier.cta.sync.aligned.all",
        "llvm.nvvm.barrier.cta.sync.all",
        "llvm.nvvm.barrier.sync",
    ),
    Dialect.AMDGCN: ("llvm.amdgcn.s.barrier",),
    Dialect.OPENCL: ("barrier", "work_group_barrier", "_Z7barrierj", "_Z18work_group_barrierj"),
    Dialect.SPIRV: (
        "__spirv_ControlBarrier",
        "_Z22__spirv_ControlBarrierjjj",
        "_Z22__spirv_ControlBarrieriii",
    ),
}


def _mangled(name: str, parameters: str) -> str:
    """The name as Itanium mangles it, for parameters given by their letters."""
    return f"_Z{len(name)}{name}{parameters}"


def _rows() -> dict[str, WorkItemName]:
    rows = {name: WorkItemName(meaning, Dialect.WEFT) for name, meaning in _WEFT.items()}
    for base, meaning in _XYZ.items():
        dialect = Dialect.NVVM if ".nvvm." in base else Dialect.AMDGCN
        for dimension, letter in enumerate("xyz"):
            rows[f"{base}.{letter}"] = WorkItemName(meaning, dialect, dimension)
    for name, meaning in _BY_ARGUMENT.items():
        rows[name] = rows[_mangled(name, "j")] = WorkItemName(meaning, Dialect.OPENCL)
    for name, meaning in _OPENCL_PLAIN.items():
        rows[name] = rows[_mangled(name, "v")] = WorkItemName(meaning, Dialect.OPENCL)
    for name, meaning in _SPIRV.items():
        row = WorkItemName(meaning, Dialect.SPIRV)
        full = f"__spirv_BuiltIn{name}"
        rows[full] = rows[_mangled(full, "i")] = rows[_mangled(full, "j")] = row
        for dimension, letter in enumerate("xyz"):
            per_dimension = f"__spirv_{name}_{letter}"
            row = WorkItemName(meaning, Dialect.SPIRV, dimension)
            rows[per_dimension] = rows[_mangled(per_dimension, "v")] = row
    for name, meaning in _SPIRV_SCALAR.items():
        full = f"__spirv_BuiltIn{name}"
        rows[full] = rows[_mangled(full, "v")] = WorkItemName(meaning, Dialect.SPIRV)
    rows |= {name: WorkItemName(meaning, Dialect.SPIRV) for name, meaning in _LLVM_SPIRV.items()}
    for register, meaning in _NVVM.items():
        rows[f"llvm.nvvm.read.ptx.sreg.{register}"] = WorkItemName(meaning, Dialect.NVVM)
    rows |= {name: WorkItemName(meaning, Dialect.AMDGCN) for name, meaning in _AMDGCN.items()}
    for name in _INVARIANT_POINTERS:
        rows[name] = WorkItemName(Meaning.GRID_UNIFORM, Dialect.AMDGCN, invariant_pointer=True)
    for dialect, names in _BARRIERS.items():
        rows |= {name: WorkItemName(Meaning.BARRIER, dialect) for name in names}
    return rows


WORK_ITEM_NAMES: dict[str, WorkItemName] = _rows()
"""Every known name."""

_TYPE_SUFFIX = re.compile(r"(\.(i\d+|f\d+|bf16|p\d+|v\d+\w+))+$")


@functools.lru_cache(maxsize=4096)
def meaning_of(name: str) -> WorkItemName | None:
    """What a function (or SPIR-V's built-in variable) asks for; None when it is none of these.

    Type suffixes of overloaded intrinsics (``.i32``) do not count.
    """
    found = WORK_ITEM_NAMES.get(name)
    if found is None and name.startswith("llvm."):
        found = WORK_ITEM_NAMES.get(_TYPE_SUFFIX.sub("", name))
    return found


def names_of(meaning: Meaning, dialect: Dialect, dimension: int | None = None) -> tuple[str, ...]:
    """The names under which a dialect asks for something, the preferred one first.

    With a dimension, names of that dimension and names that take it as an argument.
    """
    return tuple(
        name
        for name, row in WORK_ITEM_NAMES.items()
        if row.meaning is meaning
        and row.dialect is dialect
        and (dimension is None or row.dimension in (None, dimension))
    )
