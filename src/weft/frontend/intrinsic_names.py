"""What compilers and languages call the ids, sizes and barriers of a grid: one table, read both ways.

`foreign_name` tells what a function or global of foreign LLVM IR asks for; `names_of` tells how a dialect writes it.
The queries are weft's (`weft.ir.intrinsics`); a front end that translates, an analysis that takes a module as it is
and a back end for another target all read this table.

OpenCL C functions appear under their plain name and as clang mangles them. SPIR-V has functions per dimension
(``__spirv_LocalInvocationId_x``), functions with the dimension as argument (``__spirv_BuiltInLocalInvocationId``) and
LLVM's own ``llvm.spv.*``.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from enum import StrEnum


class Dialect(StrEnum):
    """Where a name comes from."""

    NVVM = "nvvm"
    AMDGCN = "amdgcn"
    OPENCL = "opencl"
    SPIRV = "spirv"


class Query(StrEnum):
    """What a name asks for; the value is the name of weft's own intrinsic where there is one."""

    LOCAL_ID = "weft.local.id"
    GLOBAL_ID = "global id"
    """Index of the thread in the grid, along a dimension; an offset may be added."""
    LOCAL_LINEAR_ID = "local linear id"
    """x + bx * (y + by * z)."""
    GLOBAL_LINEAR_ID = "global linear id"
    GROUP_ID = "weft.group.id"
    LOCAL_SIZE = "weft.local.size"
    NUM_GROUPS = "weft.num.groups"
    LANE_ID = "weft.lane.id"
    NUM_LANES = "weft.num.lanes"
    BARRIER = "weft.barrier"
    GRID_UNIFORM = "the same for the whole grid"
    """Sizes, offsets, pointers to launch records: one value for all threads of a launch."""
    LANE_GROUP_UNIFORM = "the same for a lane group"
    """Results of horizontal operations, numbers of a group's hardware."""
    LANE_DEPENDENT = "differs from lane to lane"
    """Lane masks, clocks, numbers of warps: nothing is known of how threads are related."""


@dataclass(frozen=True, slots=True)
class ForeignName:
    """One name.

    Parameters
    ----------
    query
        What it asks for.
    dimension
        Of ids and sizes; None where the first argument tells (or there is none).
    dialect
        Where the name is used.
    invariant_pointer
        It points to memory that does not change while the kernel runs and is the same for the grid.
    """

    query: Query
    dialect: Dialect
    dimension: int | None = None
    invariant_pointer: bool = False


_XYZ = {
    "llvm.nvvm.read.ptx.sreg.tid": Query.LOCAL_ID,
    "llvm.nvvm.read.ptx.sreg.ctaid": Query.GROUP_ID,
    "llvm.nvvm.read.ptx.sreg.ntid": Query.LOCAL_SIZE,
    "llvm.nvvm.read.ptx.sreg.nctaid": Query.NUM_GROUPS,
    "llvm.amdgcn.workitem.id": Query.LOCAL_ID,
    "llvm.amdgcn.workgroup.id": Query.GROUP_ID,
}
"""A name for each of three dimensions, ``.x`` ``.y`` ``.z``."""

_BY_ARGUMENT = {
    "get_local_id": Query.LOCAL_ID,
    "get_global_id": Query.GLOBAL_ID,
    "get_group_id": Query.GROUP_ID,
    "get_local_size": Query.LOCAL_SIZE,
    "get_enqueued_local_size": Query.LOCAL_SIZE,
    "get_num_groups": Query.NUM_GROUPS,
    "get_global_size": Query.GRID_UNIFORM,
    "get_global_offset": Query.GRID_UNIFORM,
}
"""OpenCL C functions with the dimension as argument."""

_OPENCL_PLAIN = {
    "get_work_dim": Query.GRID_UNIFORM,
    "get_local_linear_id": Query.LOCAL_LINEAR_ID,
    "get_global_linear_id": Query.GLOBAL_LINEAR_ID,
    "get_sub_group_local_id": Query.LANE_ID,
    "get_sub_group_id": Query.LANE_DEPENDENT,
    "get_sub_group_size": Query.LANE_DEPENDENT,
    "get_max_sub_group_size": Query.GRID_UNIFORM,
    "get_num_sub_groups": Query.LANE_GROUP_UNIFORM,
}
"""OpenCL C functions without arguments."""

_SPIRV = {
    "LocalInvocationId": Query.LOCAL_ID,
    "GlobalInvocationId": Query.GLOBAL_ID,
    "WorkgroupId": Query.GROUP_ID,
    "WorkgroupSize": Query.LOCAL_SIZE,
    "EnqueuedWorkgroupSize": Query.LOCAL_SIZE,
    "NumWorkgroups": Query.NUM_GROUPS,
    "GlobalSize": Query.GRID_UNIFORM,
    "GlobalOffset": Query.GRID_UNIFORM,
}
"""SPIR-V built-in variables of three components."""

_SPIRV_SCALAR = {
    "LocalInvocationIndex": Query.LOCAL_LINEAR_ID,
    "GlobalLinearId": Query.GLOBAL_LINEAR_ID,
    "SubgroupLocalInvocationId": Query.LANE_ID,
    "SubgroupId": Query.LANE_DEPENDENT,
    "SubgroupSize": Query.LANE_DEPENDENT,
    "WorkDim": Query.GRID_UNIFORM,
}

_LLVM_SPIRV = {
    "llvm.spv.thread.id.in.group": Query.LOCAL_ID,
    "llvm.spv.thread.id": Query.GLOBAL_ID,
    "llvm.spv.group.id": Query.GROUP_ID,
    "llvm.spv.workgroup.size": Query.LOCAL_SIZE,
    "llvm.spv.num.workgroups": Query.NUM_GROUPS,
    "llvm.spv.global.size": Query.GRID_UNIFORM,
    "llvm.spv.global.offset": Query.GRID_UNIFORM,
    "llvm.spv.flattened.thread.id.in.group": Query.LOCAL_LINEAR_ID,
    "llvm.spv.subgroup.local.invocation.id": Query.LANE_ID,
    "llvm.spv.subgroup.id": Query.LANE_DEPENDENT,
    "llvm.spv.subgroup.size": Query.LANE_DEPENDENT,
}

_NVVM = {
    **dict.fromkeys(("warpsize", "gridid", "nwarpid", "nsmid"), Query.GRID_UNIFORM),
    "laneid": Query.LANE_ID,
    **dict.fromkeys(("smid", "clusterid.x", "clusterid.y", "clusterid.z"), Query.LANE_GROUP_UNIFORM),
    **dict.fromkeys(("warpid", "clock", "clock64", "globaltimer"), Query.LANE_DEPENDENT),
    **dict.fromkeys((f"lanemask.{kind}" for kind in ("eq", "le", "lt", "ge", "gt")), Query.LANE_DEPENDENT),
}
"""Special registers without dimension, behind ``llvm.nvvm.read.ptx.sreg.``."""

_AMDGCN = {
    "llvm.amdgcn.mbcnt.lo": Query.LANE_DEPENDENT,
    "llvm.amdgcn.mbcnt.hi": Query.LANE_DEPENDENT,
    "llvm.amdgcn.wavefrontsize": Query.GRID_UNIFORM,
    "llvm.amdgcn.dispatch.id": Query.GRID_UNIFORM,
    "llvm.amdgcn.groupstaticsize": Query.GRID_UNIFORM,
    "llvm.amdgcn.readfirstlane": Query.LANE_GROUP_UNIFORM,
    "llvm.amdgcn.readlane": Query.LANE_GROUP_UNIFORM,
    "llvm.amdgcn.ballot": Query.LANE_GROUP_UNIFORM,
    "llvm.amdgcn.icmp": Query.LANE_GROUP_UNIFORM,
    "llvm.amdgcn.fcmp": Query.LANE_GROUP_UNIFORM,
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


def _rows() -> dict[str, ForeignName]:
    rows: dict[str, ForeignName] = {}
    for base, query in _XYZ.items():
        dialect = Dialect.NVVM if ".nvvm." in base else Dialect.AMDGCN
        for dimension, letter in enumerate("xyz"):
            rows[f"{base}.{letter}"] = ForeignName(query, dialect, dimension)
    for name, query in _BY_ARGUMENT.items():
        rows[name] = rows[_mangled(name, "j")] = ForeignName(query, Dialect.OPENCL)
    for name, query in _OPENCL_PLAIN.items():
        rows[name] = rows[_mangled(name, "v")] = ForeignName(query, Dialect.OPENCL)
    for name, query in _SPIRV.items():
        row = ForeignName(query, Dialect.SPIRV)
        full = f"__spirv_BuiltIn{name}"
        rows[full] = rows[_mangled(full, "i")] = rows[_mangled(full, "j")] = row
        for dimension, letter in enumerate("xyz"):
            per_dimension = f"__spirv_{name}_{letter}"
            row = ForeignName(query, Dialect.SPIRV, dimension)
            rows[per_dimension] = rows[_mangled(per_dimension, "v")] = row
    for name, query in _SPIRV_SCALAR.items():
        full = f"__spirv_BuiltIn{name}"
        rows[full] = rows[_mangled(full, "v")] = ForeignName(query, Dialect.SPIRV)
    rows |= {name: ForeignName(query, Dialect.SPIRV) for name, query in _LLVM_SPIRV.items()}
    for register, query in _NVVM.items():
        rows[f"llvm.nvvm.read.ptx.sreg.{register}"] = ForeignName(query, Dialect.NVVM)
    rows |= {name: ForeignName(query, Dialect.AMDGCN) for name, query in _AMDGCN.items()}
    for name in _INVARIANT_POINTERS:
        rows[name] = ForeignName(Query.GRID_UNIFORM, Dialect.AMDGCN, invariant_pointer=True)
    for dialect, names in _BARRIERS.items():
        rows |= {name: ForeignName(Query.BARRIER, dialect) for name in names}
    return rows


FOREIGN_NAMES: dict[str, ForeignName] = _rows()
"""Every known name."""

_TYPE_SUFFIX = re.compile(r"(\.(i\d+|f\d+|bf16|p\d+|v\d+\w+))+$")


@functools.lru_cache(maxsize=4096)
def foreign_name(name: str) -> ForeignName | None:
    """What a function (or SPIR-V's built-in variable) of foreign LLVM IR asks for; None when it is none of these.

    Type suffixes of overloaded intrinsics (``.i32``) do not count.
    """
    found = FOREIGN_NAMES.get(name)
    if found is None and name.startswith("llvm."):
        found = FOREIGN_NAMES.get(_TYPE_SUFFIX.sub("", name))
    return found


def names_of(query: Query, dialect: Dialect, dimension: int | None = None) -> tuple[str, ...]:
    """The names under which a dialect asks for something, the preferred one first.

    With a dimension, names of that dimension and names that take it as an argument.
    """
    return tuple(
        name
        for name, row in FOREIGN_NAMES.items()
        if row.query is query
        and row.dialect is dialect
        and (dimension is None or row.dimension in (None, dimension))
    )
