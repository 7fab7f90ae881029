"""Allocating the registers of the kernels of a module, and writing it again (`weft.ptx.spill`, ``weft spill``)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from weft.diag.errors import ArgumentError, SettingError
from weft.diag.remarks import Remark, RemarkKind
from weft.machine.gpu_devices import device as device_named
from weft.ptx.check import check_module
from weft.ptx.reader import read_module
from weft.ptx.regalloc.places import LocalSlot
from weft.ptx.syntax import Directive, Module
from weft.ptx.writer import write_module
from weft.spill.allocation import Spilled, allocate
from weft.spill.costs import expected, frequencies
from weft.spill.kernel import Kernel
from weft.spill.policies import Policy
from weft.spill.settings import Settings

_VOLATILE_LOCAL = (9, 1)
_WARP_SYNC = (6, 0)
_GAIN = 0.98
"""What another version has to come down to, to be worth it."""


@dataclass(frozen=True, slots=True)
class SpilledModule:
    """A module whose kernels have their registers allocated.

    Parameters
    ----------
    text
        The PTX.
    kernels
        What was done, for each kernel.
    """

    text: str
    kernels: dict[str, Spilled]

    @property
    def remarks(self) -> list[Remark]:
        """Decisions a user may ask about."""
        return [remark for kernel in self.kernels.values() for remark in kernel.remarks]

    def report(self) -> str:
        """Tables of the spilled values: where each went, why, and what it costs."""
        from weft.spill.report import report

        return "\n\n".join(report(kernel) for kernel in self.kernels.values()) + "\n"


def spill(
    source: str | Path,
    registers: int,
    policy: Policy | str = Policy.AUTO,
    *,
    kernel: str | Sequence[str] | None = None,
    arch: str | None = None,
    block: int | Sequence[int] | None = None,
    allocator: str = "linear",
    reuse: bool = True,
    count_bases: bool = True,
    farthest: str = "next",
    degree: int = 1,
    dynamic_shared: int = 0,
    max_registers: int | None = None,
    device: str | None = None,
) -> SpilledModule:
    """Allocate the registers of kernels in PTX, with divergence in mind.

    Parameters
    ----------
    source
        The PTX, or the path of a file with it.
    registers
        32-bit registers of a thread; 64-bit values take two, predicates none.
    policy
        Where spilled values go: ``"local"``, ``"div"``, ``"affine"``, ``"hybrid"``, or ``"auto"``, the cheapest.
    kernel
        The kernels, all by default.
    arch
        ``"sm_90"``; by default what the module says.
    block
        The size of work-groups, exactly: a number, or up to three.
    allocator
        ``"linear"`` or ``"chordal"``.
    reuse
        Whether what is still in a register is not reloaded.
    count_bases
        Whether base addresses of slots count as registers.
    farthest
        For linear scan: whether the value with the farthest ``"last"`` or ``"next"`` use is spilled.
    degree
        Of the polynomials in the thread id, 1 or 2.
    dynamic_shared
        Bytes of dynamic shared memory that launches have.
    max_registers
        Write ``.maxnreg`` with this number.
    device
        The GPU of the model by which costs are estimated, ``"gtx570-48k"``, and whose limits hold; by default the
        nearest one, with the limits of `arch`.

    Returns
    -------
    SpilledModule
        The PTX, and what was done.

    Raises
    ------
    PtxError
        The text is malformed, or an instruction needs more registers than there are, at its place.
    SettingError
        An option has a value that it cannot have.
    ArgumentError
        There is no such kernel.
    """
    text, file = _text_of(source)
    module = read_module(text, file)
    check_module(module)
    names = [f.name for f in module.entries()]
    wanted = names if kernel is None else [kernel] if isinstance(kernel, str) else list(kernel)
    for name in wanted:
        if name not in names:
            raise ArgumentError(f"{file} has no kernel {name}", hint=f"it has {', '.join(names)}")
    settings = Settings(
        registers, _policy(policy), arch, _block(block), _one_of("allocator", allocator, ("linear", "chordal")),
        reuse, count_bases, _one_of("farthest", farthest, ("last", "next")), degree, dynamic_shared,
        None if device is None else device_named(device).name,
    )  # fmt: skip
    if degree not in (1, 2):
        raise SettingError(f"degree={degree} is neither 1 nor 2")
    found = {name: spill_kernel(module, name, settings) for name in wanted}
    return SpilledModule(write_module(with_kernels(module, found, max_registers)), found)


def spill_kernel(module: Module, name: str, settings: Settings) -> Spilled:
    """Allocate the registers of one kernel of a checked module."""
    kernel = Kernel.of(
        module, name, arch=settings.arch, block=settings.block, degree=settings.degree, device=settings.device
    )
    return chosen(kernel, settings)


def chosen(kernel: Kernel, settings: Settings) -> Spilled:
    """Allocate under a policy, for ``auto`` under the one that the model takes for the cheapest."""
    if settings.policy is not Policy.AUTO:
        return allocate(kernel, settings)
    # The simpler one stays where another gains nothing.
    policies = (Policy.LOCAL, Policy.DIV, Policy.AFFINE, Policy.HYBRID)
    tried = [allocate(kernel, dataclasses.replace(settings, policy=p)) for p in policies]
    best = cheapest(tried)
    best.settings = settings
    if best.policy is Policy.LOCAL and any(t.places for t in tried):
        best.remarks.append(
            Remark(
                RemarkKind.MISSED,
                "slots in shared memory and computing again would gain nothing: spilled values are in local memory",
                kernel.module.span(kernel.source),
            )
        )
    return best


def cheapest(tried: Sequence[Spilled]) -> Spilled:
    """The version that the model takes for the cheapest; an earlier one where a later one gains next to nothing."""
    best = tried[0]
    for each in tried[1:]:
        if each.places and cycles(each) < _GAIN * cycles(best):
            best = each
    return best


def cycles(spilled: Spilled) -> float:
    """What a multiprocessor full of warps is expected to need, in cycles of the model."""
    kernel = spilled.kernel
    often = frequencies(kernel.liveness.flow)
    warps = max(1, spilled.after.warps)
    found = expected(
        kernel.function.instructions(),
        spilled.inserted,
        often,
        kernel.device,
        local=spilled.local,
        warps=warps,
    )
    return found.cycles * spilled.before.warps / warps


def with_kernels(module: Module, found: dict[str, Spilled], max_registers: int | None = None) -> Module:
    """The module with these kernels instead of its own, and a version that has what they use."""
    version = module.version
    body = []
    for item in module.body:
        spilled = found.get(getattr(item, "name", ""))
        if spilled is None or item != spilled.kernel.source:
            body.append(item)
            continue
        function = spilled.function
        if max_registers is not None:
            kept = tuple(d for d in function.directives if d.name != "maxnreg")
            function = dataclasses.replace(
                function, directives=(*kept, Directive("maxnreg", (max_registers,)))
            )
        body.append(function)
        if (
            any(isinstance(p, LocalSlot) for p in spilled.places.values())
            and spilled.kernel.arch.capability >= 75
        ):
            version = max(version, _VOLATILE_LOCAL)
        if any(each.kind == "sync" for each in spilled.inserted):
            version = max(version, _WARP_SYNC)
    return dataclasses.replace(module, version=version, body=body)


def _policy(policy: Policy | str) -> Policy:
    try:
        return Policy(policy)
    except ValueError:
        raise SettingError(
            f"{policy!r} is no policy", hint=f"there are {', '.join(p.value for p in Policy)}"
        ) from None


def _one_of(name: str, value: str, values: tuple[str, ...]) -> str:
    if value not in values:
        raise SettingError(f"{name}={value!r} is unknown", hint=f"there are {', '.join(values)}")
    return value


def _block(block: int | Sequence[int] | None) -> tuple[int, int, int] | None:
    if block is None:
        return None
    sizes = [block] if isinstance(block, int) else [int(size) for size in block]
    if not 1 <= len(sizes) <= 3 or any(size < 1 for size in sizes):
        raise SettingError(
            f"block={block} is no size of work-groups", hint="give one to three positive numbers"
        )
    x, y, z = [*sizes, 1, 1][:3]
    if x * y * z > 1024:
        raise SettingError(f"block={block} has more than 1024 threads")
    return x, y, z


def _text_of(source: str | Path) -> tuple[str, str]:
    if isinstance(source, Path) or ("\n" not in source and source.endswith(".ptx")):
        return Path(source).read_text(), str(source)
    return source, "<ptx>"
