"""Hooks see blocks, branches, accesses and values; the table of semantics covers the opcodes."""

import numpy as np

from weft import interp
from weft.interp.machine import Machine
from weft.interp.semantics import BY_FRAME, SEMANTICS, TERMINATORS
from weft.interp.threads.active import ActiveSet
from weft.ir.instruction import Instruction
from weft.ir.intrinsics import INTRINSICS
from weft.ir.opcodes import OPCODES
from weft.ir.reader import read_module


class Recorder:
    """Everything that happens."""

    def __init__(self) -> None:
        self.branches: list[tuple[str, list[tuple[int, int]]]] = []
        self.accesses: list[tuple[str, str, int, list[int]]] = []
        self.values: dict[str, list[tuple[list[int], list[int]]]] = {}

    def on_branch(self, machine: Machine, branch: Instruction, targets: list[tuple[int, ActiveSet]]) -> None:
        assert branch.block is not None
        self.branches.append((branch.block.name, [(n, threads.count) for n, threads in targets]))

    def on_access(
        self, machine: Machine, i: Instruction, addresses: np.ndarray, mask: np.ndarray, kind: str, size: int
    ) -> None:
        self.accesses.append((i.op, kind, size, mask.astype(int).tolist()))

    def on_value(self, machine: Machine, i: Instruction, value: interp.LaneValue, mask: np.ndarray) -> None:
        assert isinstance(value, interp.Lanes)
        data = np.broadcast_to(value.data, (machine.lanes,)).astype(int).tolist()
        self.values.setdefault(i.name, []).append((data, mask.astype(int).tolist()))


TEXT = """
define i32 @f(i32 %n, ptr %x) {
A:
  br label %B
B:
  %i = phi i32 [ 0, %A ], [ %i1, %B ]
  %i1 = add i32 %i, 1
  %more = icmp ult i32 %i1, %n
  br i1 %more, label %B, label %C
C:
  %out = phi i32 [ %i1, %B ]
  %t = total add i32 %n, 1
  store i32 %out, ptr %x
  ret i32 %out
}"""


def record(semantics: str = "FR") -> Recorder:
    recorder = Recorder()
    memory = interp.Memory()
    x = np.zeros(3, np.int32)
    base = memory.map_array(x)
    interp.run_function(
        read_module(TEXT), "f", [np.array([1, 3, 2]), base + np.arange(3) * 4], 3,
        memory=memory, hooks=[recorder], semantics=semantics,
    )  # fmt: skip
    return recorder


def test_branches_tell_how_many_threads_went_where() -> None:
    assert record().branches == [("B", [(0, 2), (1, 1)]), ("B", [(0, 1), (1, 1)]), ("B", [(0, 0), (1, 1)])]


def test_accesses_tell_kind_size_and_threads() -> None:
    assert record().accesses == [("store", "store", 4, [1, 1, 1])]


def test_values_come_with_their_definition_mask() -> None:
    values = record().values
    assert [mask for _, mask in values["i1"]] == [[1, 1, 1], [0, 1, 1], [0, 1, 0]]
    assert values["i1"][-1][0] == [1, 3, 2], "freezing keeps what passive threads had"
    assert values["out"] == [([1, 3, 2], [1, 1, 1])]
    assert values["t"][0][1] == [1, 1, 1]


def test_a_phi_is_defined_where_its_incoming_value_is() -> None:
    """Moll, Def. 10, rule 3: under OBL the threads that left the loop early have lost the value."""
    values = record("OBL").values
    assert values["out"][0][1] == [0, 1, 0]


def test_every_opcode_of_the_table_has_its_semantics() -> None:
    assert set(SEMANTICS) | set(TERMINATORS) | BY_FRAME == set(OPCODES)
    assert {name for name, row in OPCODES.items() if row.terminator} == set(TERMINATORS)


def test_every_intrinsic_of_weft_has_its_semantics() -> None:
    from weft.interp.calls.intrinsics_weft import TABLE

    assert set(INTRINSICS) <= set(TABLE)
