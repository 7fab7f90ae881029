"""A program from source to machine code, for callers that launch by themselves: the driver.

`Built.code` gives code of a kernel for launches of one kind. It is called with a launch record
(`weft.codegen.launch_record`): ``i32 entry(record, begin, end, worker)`` runs work-groups `begin` to `end` - 1 on one
thread and returns an `~weft.codegen.launch_record.ErrorCode`.

Slots of a launch, eight bytes each: those of the arguments (`weft.frontend.device.metadata.Passing`), the address of
program-scope variables (0 where there are none), the number of dimensions, and for launches that are *placed* the
values of `weft.frontend.device.work_items.HIDDEN`. `weft.opencl.geometry.NDRange` says into which parts a launch is
divided.
"""

from __future__ import annotations

from msgspec import Struct, field
from msgspec.structs import replace

from weft.device.compiled import CompiledKernel
from weft.frontend.device.metadata import KernelInfo
from weft.opencl.compiled import KernelOrigin
from weft.opencl.source import ProgramSource
from weft.options import CompileOptions
from weft.runtime.launch_terms import Specializations
from weft.runtime.row_numbers import Known
from weft.runtime.shape import LaunchShape
from weft.switches import ALL_ON

_SUB_GROUPS = "__weft_sub_group"
"""In the text of programs that ask about their sub-group."""


class LaunchKind(Struct, frozen=True):
    """Which launches of a kernel code is for.

    Parameters
    ----------
    local_size
        Work-items of a work-group along x, y and z.
    large
        Whether a buffer has 2 GiB or more, or sizes or ids are 2^31 or more.
    placed
        Whether ids do not begin at 0, or the launch is part of a larger one.
    apart
        Whether no two buffers share bytes.
    known
        Lengths of short rows that the launch tells.
    """

    local_size: tuple[int, int, int]
    large: bool = False
    placed: bool = False
    apart: bool = False
    known: Known = ()


class Built(Struct):
    """A program that was built.

    Parameters
    ----------
    source
        What its kernels are compiled from; ``source.log`` has clang's diagnostics, ``source.scope`` the variables of
        program scope.
    """

    source: ProgramSource
    _kernels: dict[tuple[str, bool, bool], CompiledKernel] = field(default_factory=dict)
    _specializations: dict[tuple[str, bool, bool], Specializations[CompiledKernel]] = field(
        default_factory=dict
    )

    def code(self, name: str, kind: LaunchKind) -> CompiledKernel:
        """Return code of a kernel for launches of one kind.

        Raises
        ------
        ArgumentError
            There is no such kernel.
        WeftError
            It cannot be compiled.
        """
        info = self.source.kernel(name)
        # One work-item fills no lanes: code for more would take longer to compile, and to run.
        alone = kind.local_size == (1, 1, 1) and _SUB_GROUPS not in self.source.text
        key = (name, kind.placed, alone)
        if key not in self._kernels:
            origin = KernelOrigin(self.source, info, kind.placed)
            options = replace(compile_options(self.source, info), arrays_apart=True)
            self._kernels[key] = CompiledKernel(origin, _one_by_one(options) if alone else options)
            self._specializations[key] = Specializations(_specialized)
        shape = LaunchShape((1, 1, 1), kind.local_size)
        made = self._specializations[key]
        code = made.knowing(self._kernels[key], kind.known)
        return made.serving(code, shape, kind.large, lambda: not kind.apart)


def compile_options(
    source: ProgramSource, info: KernelInfo, asked: CompileOptions | None = None
) -> CompileOptions:
    """How a kernel is compiled, from the program's options and what a user asks for beside them, which goes first."""
    asked = asked or CompileOptions(whole_rows=True)
    own = source.options
    asked = replace(
        asked,
        width=own.width if asked.width is None and asked.brush is None else asked.width,
        brush=own.brush if asked.width is None and asked.brush is None else asked.brush,
        boscc=own.boscc if asked.boscc == "auto" else asked.boscc,
        switches=own.switches if asked.switches == ALL_ON else asked.switches,
    )
    if not own.optimize:
        asked = _one_by_one(asked)
    return replace(asked, fastmath=own.fastmath, warp=info.sub_group_size)


def _one_by_one(options: CompileOptions) -> CompileOptions:
    """For work-items that run one after the other."""
    return replace(options, width=1, brush=None, boscc="off", whole_rows=False)


def _specialized(code: CompiledKernel, options: CompileOptions) -> CompiledKernel:
    return CompiledKernel(code.origin, options)
