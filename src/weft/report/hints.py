"""What to change where something costs: hints in the user's terms, by what it is and by what it comes from."""

from __future__ import annotations

from weft.analysis.divergence import Divergence
from weft.analysis.divergence.row_divisions import DIVISIONS
from weft.ir import Argument, Instruction, Value
from weft.ir.intrinsics import kind_of
from weft.ir.types import IntType
from weft.ir.work_item_names import meaning_of
from weft.report.model import FindingKind

_DEPTH = 24
"""How many operations an address is followed back."""

EXCHANGE = (
    "exchange the indices, or the dimensions of the grid, so that neighbouring threads access "
    "neighbouring elements"
)
CONTIGUOUS = (
    "pass a contiguous array, and say so in its type: float32[::1], float32[:, ::1]; "
    "numpy.ascontiguousarray makes one"
)
SEPARATE = "let what neighbouring threads use stand side by side: an array for each field, instead of records"
SORT = "sort or bin what is looked up by its index, or let a block load the stretch into shared memory first"
WIDER = "compute the index in 64 bits: a 32-bit sum may wrap around, and then neighbours are not neighbours"
MULTIPLE = (
    "give each row a thread or a block of y, instead of dividing the thread's number; where "
    "rows are multiples of the lanes, groups of lanes are contiguous as they are"
)
HOIST = "hoist the access out of the loop: its address is the same in each round"
NEIGHBOURS = (
    "where neighbouring lanes pass addresses of neighbours, say so: --args C, or linear in "
    "#pragma omp declare simd"
)
VOTE = "sort items by their length, or let lanes decide together by a vote (any_sync, all_sync)"
ORDER = "sort items by the way they go, or move what both ways do out of the branch"
LOCAL = "add up in the lane group or in shared memory first, and do one atomic operation for all"
INLINE = (
    "let the compiler see the function: a device function, or one of mathematics that "
    "libraries have for vectors"
)
RECIPROCAL = (
    "divide by a constant or a power of two, or as floats; a number that all lanes divide "
    "alike may be an index of a grid of two dimensions"
)
COALESCE = "let the threads of a warp access neighbouring elements: exchange the indices, or go through shared memory"
BANKS = "let rows of shared memory be one element longer, so that the threads of a warp meet all banks"
NARROW = "use 32-bit floats throughout: np.float32(...) for numbers from outside, and arrays of float32"


def hint_of_access(
    divergence: Divergence, access: Instruction, kind: FindingKind, stride: int | None, in_loop: bool
) -> str:
    """A hint for an access whose lanes are no neighbours."""
    if kind is FindingKind.ATOMIC:
        return LOCAL
    sources = _sources(access.pointer)
    if in_loop and access.op == "load" and not _changes_in_loop(divergence, access):
        return HOIST
    if kind is FindingKind.STRIDED:
        size = divergence.engine.layout.size(access.accessed_type)
        if stride is not None and 0 < abs(stride) <= 8 * size and abs(stride) % size == 0:
            return SEPARATE
        return CONTIGUOUS if stride is None and _has_free_stride(sources) else EXCHANGE
    if any(isinstance(v, Instruction) and v.op in DIVISIONS for v in sources):
        return MULTIPLE
    if any(isinstance(v, Instruction) and v.op in ("load", "call") and not _is_id(v) for v in sources):
        return SORT
    if any(isinstance(v, Argument) and v.type.is_pointer and not divergence.is_uniform(v) for v in sources):
        return NEIGHBOURS
    if any(_may_wrap(divergence, v) for v in sources):
        return WIDER
    return CONTIGUOUS if _has_free_stride(sources) else EXCHANGE


def _sources(value: Value, through_loads: bool = False) -> list[Value]:
    """What an address is computed from, up to calls, arguments and, unless they are looked through, loads."""
    ends = ("call", "phi", "alloca") if through_loads else ("load", "call", "alloca")
    found: dict[Value, None] = {}
    pending = [(value, 0)]
    while pending:
        each, depth = pending.pop()
        if each in found or depth > _DEPTH:
            continue
        found[each] = None
        if isinstance(each, Instruction) and each.op not in ends:
            pending += [(operand, depth + 1) for operand in each.operands]
    return list(found)


def _is_id(value: Instruction) -> bool:
    name = value.callee_name
    return name is not None and (kind_of(name) is not None or meaning_of(name) is not None)


def _has_free_stride(sources: list[Value]) -> bool:
    """Whether an array comes with strides of its own, which contiguous ones do not."""
    return any(isinstance(v, Argument) and ".strides." in v.name for v in sources)


def _may_wrap(divergence: Divergence, value: Value) -> bool:
    """Whether a number of 32 bits that the lanes have differently may have wrapped around before it was extended."""
    return (
        isinstance(value, Instruction)
        and value.op in ("sext", "zext")
        and isinstance(value.operands[0].type, IntType)
        and value.operands[0].type.bits == 32
        and not divergence.shape(value).is_strided
        and divergence.shape(value.operands[0]).is_strided
    )


def _changes_in_loop(divergence: Divergence, access: Instruction) -> bool:
    """Whether the address of an access is computed in the innermost loop around it."""
    engine = divergence.engine
    loops = engine.control.propagation.loops
    assert access.block is not None
    loop = loops.innermost[engine.blocks[access.block]]
    if loop is None:
        return True
    return any(
        isinstance(v, Instruction)
        and v.op in ("phi", "call")
        and v.block is not None
        and engine.blocks[v.block] in loop.blocks
        and not _is_id(v)
        for v in _sources(access.pointer, through_loads=True)
    )
