"""The state of widening one function: what each P-LLVM value has become."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from weft.analysis.memory.linear_locations import LinearAliasAnalysis
from weft.analysis.memory.promises import Promise
from weft.codegen.widen.lane_expressions import LaneExpressions, LoadedPieces
from weft.codegen.widen.lanes import LaneSpace
from weft.codegen.widen.scalar_votes import scalar_vote
from weft.codegen.widen.stack_objects import PlacedDivergence
from weft.codegen.widen.sums_of_products import Strip
from weft.ir import (
    BasicBlock,
    Builder,
    ConstAggregate,
    ConstInt,
    ConstSplat,
    Function,
    Instruction,
    Module,
    Value,
)
from weft.ir.constants import Constant, ConstZero, Poison, Undef, zero_of
from weft.ir.types import I8, I32, I64, VOID, FunctionType, IntType, PointerType, Type, VectorType, int_type
from weft.machine.targets import Isa

if TYPE_CHECKING:
    from weft.codegen.widen.access_groups import AccessGroup
    from weft.codegen.widen.apart_updates import ApartUpdate
    from weft.codegen.widen.covered import Extents
    from weft.codegen.widen.gather_pairs import GatherPair
    from weft.codegen.widen.joint_stores import JointStores
    from weft.codegen.widen.own_places import OwnObjects
    from weft.codegen.widen.own_rows import OwnRow
    from weft.codegen.widen.shifted import Row
    from weft.codegen.widen.simd_calls import FindSimd


class Widening:
    """Maps values of `source` to those of `target` and builds at the current point.

    Parameters
    ----------
    module
        Holds both functions.
    source, target
        The function for one lane, and the one for all of them.
    lanes
        The lane group.
    divergence
        What is known of the values of `source`.
    kept
        Values that are needed as scalars.
    remark
        Notes something of an instruction.
    promise
        What the launcher of `source` promises of its arguments.

    Attributes
    ----------
    scalars, vectors
        For a value that is kept scalar its value in lane 0; for any value its vector, once it is needed.
    mask
        The mask of the block that is being widened, None when all lanes are active.
    mask_conditions
        What masks of blocks are vectors of.
    find_simd
        Finds the version of a called function for all lanes.
    entry_mask
        The mask of the lanes that the function is called for, None when they are all.
    isa
        The instruction set that the code is for: it decides between forms, all of which every machine can run.
    addresses
        Which accesses of one thread overlap.
    groups, pairs, own_rows, joint_stores
        Accesses that are made together, for each block whose accesses have been looked at.
    own_objects
        What is known of lanes' own objects that they access at places of their own.
    asked_next
        For which offsets from a place what lanes look up next has been asked for, by block and place.
    pieces
        What has been loaded in this block in contiguous pieces.
    extents
        For loads that have been looked at what loads beside them need of memory.
    rows
        For loads that have been looked at what loads beside them read of rows at several shifts.
    accessed_by_all
        Loads and stores that all lanes make wherever they are made.
    updates
        Updates that are made lane by lane, by their stores and by what these store.
    near_quotients
        For divisions made once for all lanes whether quotients are that of lane 0 or one more.
    divided
        Numbers under masks, and what all lanes divide them by, as they are divided, by block and mask.
    """

    def __init__(
        self,
        module: Module,
        source: Function,
        target: Function,
        lanes: LaneSpace,
        divergence: PlacedDivergence,
        kept: set[Value],
        remark: Callable[[Instruction, str], None],
        isa: Isa,
        promise: Promise | None = None,
    ) -> None:
        self.module = module
        self.source = source
        self.target = target
        self.lanes = lanes
        self.divergence = divergence
        self.kept = kept
        self.remark = remark
        self.isa = isa
        layout = module.layout
        self.addresses = LinearAliasAnalysis(divergence.engine.objects, layout, promise)
        self.groups: dict[BasicBlock, dict[Instruction, AccessGroup]] = {}
        self.pairs: dict[BasicBlock, dict[Instruction, GatherPair]] = {}
        self.own_rows: dict[BasicBlock, dict[Instruction, OwnRow]] = {}
        self.joint_stores: dict[BasicBlock, dict[Instruction, JointStores]] = {}
        self.own_objects: OwnObjects | None = None
        self.asked_next: dict[object, list[int]] = {}
        self.pieces = LoadedPieces()
        self.extents: dict[Instruction, Extents] = {}
        self.rows: dict[Instruction, dict[Strip, Row]] = {}
        self.accessed_by_all: set[Instruction] = set()
        self.updates: dict[Instruction, ApartUpdate] = {}
        self.near_quotients: dict[Instruction, Value] = {}
        self.divided: dict[tuple[BasicBlock, Value | None, Value, Value], list[Value]] = {}
        self._expressions: dict[bool, LaneExpressions] = {}
        self.find_simd: FindSimd = lambda function, signature: None
        self.entry_mask: Value | None = None
        self.builder = Builder()
        self.scalars: dict[Value, Value] = {}
        self.vectors: dict[Value, Value] = {}
        self.mask: Value | None = None
        self.starts: dict[BasicBlock, BasicBlock] = {}
        self.ends: dict[BasicBlock, BasicBlock] = {}
        self._any: dict[tuple[BasicBlock, Value], Value] = {}
        self.mask_conditions: dict[Value, Value] = {}
        self._spare: dict[tuple[Type, bool], Value] = {}

    def is_scalar(self, value: Value) -> bool:
        """Whether the value in lane 0 stands for all lanes, by the value's strides."""
        return isinstance(value, Constant) or value in self.kept

    def is_uniform(self, value: Value) -> bool:
        """Whether the scalar kept for `value` is its value in every lane."""
        return isinstance(value, Constant) or (value in self.kept and self.divergence.shape(value).is_uniform)

    def scalar(self, value: Value) -> Value:
        """The value in lane 0, of a value that is kept scalar."""
        return value if isinstance(value, Constant) else self.scalars[value]

    def vector(self, value: Value) -> Value:
        """The value in all lanes, as a vector."""
        if isinstance(value, Constant):
            return self.constant_vector(value)
        known = self.vectors.get(value)
        if known is None:
            known = self.vectors[value] = self._spread(value)
        return known

    def constant_vector(self, value: Constant) -> Constant:
        """A constant in all lanes."""
        type = self.lanes.vector(value.type)
        if isinstance(value, (Poison, Undef)):
            return value.__class__(type)
        if isinstance(value, (ConstAggregate, ConstZero)) and not isinstance(value.type, VectorType):
            raise AssertionError("aggregates are taken apart before widening")
        return ConstSplat(type, value)

    def _spread(self, value: Value) -> Value:
        """Build the vector of a scalar right behind its definition, so that it serves every use."""
        scalar = self.scalars[value]
        builder = _behind(scalar, self.target)
        vector = broadcast(builder, scalar, self.lanes)
        shape = self.divergence.shape(value)
        if shape.is_uniform:
            return vector
        offsets = self.lanes.offsets([s for s in shape.strides if isinstance(s, int)])
        if isinstance(scalar.type, PointerType):
            steps = self.lanes.constant(I64, offsets)
            return builder.gep(I8, scalar, (steps,))
        assert isinstance(scalar.type, IntType)
        return builder.binary("add", vector, self.lanes.constant(scalar.type, offsets))

    def expressions(self, *, everywhere: bool) -> LaneExpressions:
        """Addresses as expressions; `everywhere`, those that hold in passive lanes, too."""
        if everywhere not in self._expressions:
            self._expressions[everywhere] = LaneExpressions(self, everywhere)
        return self._expressions[everywhere]

    def may_write_back(self, store: Instruction) -> bool:
        """Whether lanes that do not store may store what they find, as all have accessed it."""
        return not self.accessed_by_all.isdisjoint(
            self.divergence.facts.accesses_before_stores.get(store, ())
        )

    def set_scalar(self, value: Value, scalar: Value) -> None:
        self.scalars[value] = scalar

    def set_vector(self, value: Value, vector: Value) -> None:
        self.vectors[value] = vector

    def active(self) -> Value:
        """The mask of the current block as a vector, all true where all lanes are active."""
        return self.lanes.all_lanes if self.mask is None else self.mask

    def some_active(self) -> Value | None:
        """An i1: whether any lane is active here; None when that is certain."""
        if self.mask is None:
            return None
        assert self.builder.block is not None
        key = (self.builder.block, self.mask)
        known = self._any.get(key)
        if known is None:
            known = self._any[key] = self._vote() or any_lane(self.builder, self.mask)
        return known

    def _vote(self) -> Value | None:
        """Whether any lane is active here, by a scalar of the condition that the mask is of."""
        mask, condition = self.mask, self.mask_conditions.get(self.mask) if self.mask is not None else None
        if condition is None:
            return None
        self.mask = None
        found = scalar_vote(self, condition, every=False)
        self.mask = mask
        return found

    def spare(self, type: Type, *, written: bool) -> Value:
        """A stack object that takes the accesses of passive lanes: one for what they write, and one of zeros.

        What is left of something else on the stack may read as a denormal number, with which arithmetic takes a
        hundred cycles and more, for lanes whose results nobody wants.
        """
        known = self._spare.get((type, written))
        if known is None:
            known = self._spare[type, written] = self.stack_slot(type, 0, "spare" if written else "nothing")
            if not written:
                attrs = {"align": 0, "volatile": False}
                self.target.entry.insert(1, Instruction("store", VOID, (zero_of(type), known), attrs=attrs))
        return known

    def stack_slot(self, type: Type, align: int, name: str = "") -> Value:
        """A new stack object; with no alignment given that of its type."""
        attrs = {"allocated_type": type, "align": align, "space": 0}
        slot = Instruction("alloca", PointerType(0), (ConstInt(I32, 1),), name=name, attrs=attrs)
        return self.target.entry.insert(0, slot)

    def spare_place(self, type: Type, address: Type, *, written: bool) -> Value:
        """The address of `spare`, as one of type `address`."""
        spare = self.spare(type, written=written)
        return spare if spare.type == address else self.builder.cast("addrspacecast", spare, address)

    def intrinsic(self, name: str, result: Type, params: tuple[Type, ...]) -> Function:
        """An LLVM intrinsic, declared on first use."""
        return self.module.declare(name, FunctionType(result, params))

    def new_block(self, name: str) -> BasicBlock:
        """A new block behind the current one."""
        return self.target.add_block(name, after=self.builder.block)


def _behind(value: Value, function: Function) -> Builder:
    """A builder right behind the definition of `value`."""
    if not isinstance(value, Instruction):
        return Builder.after_phis(function.entry) if function.entry.instructions else Builder(function.entry)
    block = value.block
    assert block is not None
    if value.is_phi:
        return Builder.after_phis(block)
    at = block.instructions.index(value) + 1
    return Builder(block, block.instructions[at] if at < len(block.instructions) else None)


def broadcast(builder: Builder, scalar: Value, lanes: LaneSpace) -> Value:
    """`scalar` in every lane."""
    if isinstance(scalar, Constant):
        return lanes.splat(scalar)
    type = lanes.vector(scalar.type)
    single = builder.insert_element(Poison(type), scalar, ConstInt(I64, 0))
    return builder.shuffle(single, Poison(type), [0] * lanes.width)


def mask_bits(builder: Builder, mask: Value) -> Value:
    """A mask as an integer, bit t for lane t."""
    assert isinstance(mask.type, VectorType)
    return builder.cast("bitcast", mask, int_type(mask.type.count))


def any_lane(builder: Builder, mask: Value) -> Value:
    """Whether `mask` is true in some lane: one comparison of the mask register with zero."""
    bits = mask_bits(builder, mask)
    assert isinstance(bits.type, IntType)
    return builder.icmp("ne", bits, ConstInt(bits.type, 0))
