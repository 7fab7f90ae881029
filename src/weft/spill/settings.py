"""How registers are allocated: what a user may choose."""

from __future__ import annotations

from dataclasses import dataclass

from weft.ptx.regalloc.linear_scan import NEXT
from weft.spill.policies import Policy


@dataclass(frozen=True, slots=True)
class Settings:
    """How registers are allocated.

    Parameters
    ----------
    registers
        32-bit registers of a thread, without predicates.
    policy
        Where spilled values go.
    arch
        The architecture; by default that of ``.target``.
    block
        The size of work-groups, exactly; the kernel then gets ``.reqntid``. By default what the kernel says, else
        any size.
    allocator
        ``"linear"`` or ``"chordal"``.
    reuse
        Whether a value that is still in a register is not reloaded. Without, every read of a spilled value reloads it,
        and every write stores it.
    count_bases
        Whether what spill code needs counts as registers of the budget: base addresses of slots, ids. If not, it comes
        on top, as in the paper, where linear scan has nine registers if the others have eight.
    farthest
        For linear scan: which use makes a value the one to spill, the ``"last"`` or the ``"next"``.
    degree
        Of the polynomials that values are described by.
    dynamic_shared
        Bytes of dynamic shared memory that launches have, for occupancy.
    device
        The GPU of the model by which costs are estimated, and whose limits hold; by default the nearest one to `arch`.
    """

    registers: int
    policy: Policy = Policy.AUTO
    arch: str | None = None
    block: tuple[int, int, int] | None = None
    allocator: str = "linear"
    reuse: bool = True
    count_bases: bool = True
    farthest: str = NEXT
    degree: int = 1
    dynamic_shared: int = 0
    device: str | None = None
