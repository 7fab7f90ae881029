"""Hooks: how profiles, the sanitizer and soundness tests watch a run.

Pass objects with any of the methods of `Hook`; a method that is missing costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct, field

if TYPE_CHECKING:
    import numpy as np

    from weft.interp.lanes import LaneValue
    from weft.interp.machine import Machine
    from weft.interp.threads.active import ActiveSet
    from weft.ir.block import BasicBlock
    from weft.ir.instruction import Instruction


class Hook(Protocol):
    """The events; masks and addresses are full arrays, one element per lane."""

    def on_block(self, machine: Machine, block: BasicBlock, active: ActiveSet) -> None:
        """`block` runs with the threads of `active` active (their activation, Moll Def. 8)."""

    def on_branch(self, machine: Machine, branch: Instruction, targets: list[tuple[int, ActiveSet]]) -> None:
        """A ``br`` or ``switch`` with a condition sent active threads to successors, by successor index."""

    def on_access(
        self,
        machine: Machine,
        instruction: Instruction,
        addresses: np.ndarray,
        mask: np.ndarray,
        kind: str,
        size: int,
    ) -> None:
        """Active threads access `size` bytes; `kind` is ``load``, ``store`` or ``atomic``."""

    def on_value(
        self, machine: Machine, instruction: Instruction, value: LaneValue, definition_mask: np.ndarray
    ) -> None:
        """`instruction` was assigned `value` under a definition mask (Moll Def. 10)."""

    def on_barrier(self, machine: Machine, instruction: Instruction, active: ActiveSet) -> None:
        """The threads of `active` passed a barrier or another synchronization of their lane group."""


Callback = Callable[..., Any]


class HookTable(Struct):
    """The methods of all hooks, by event; an event without listeners is an empty list."""

    on_block: list[Callback] = field(default_factory=list)
    on_branch: list[Callback] = field(default_factory=list)
    on_access: list[Callback] = field(default_factory=list)
    on_value: list[Callback] = field(default_factory=list)
    on_barrier: list[Callback] = field(default_factory=list)

    @classmethod
    def of(cls, hooks: Iterable[object]) -> HookTable:
        table = cls()
        for hook in hooks:
            for event in cls.__struct_fields__:
                method = getattr(hook, event, None)
                if method is not None:
                    getattr(table, event).append(method)
        return table
