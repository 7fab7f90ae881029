"""One compiled signature of a kernel: from the cache, or through the pipeline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from weft.compiled_kernel import CompiledKernelBase, Started
from weft.frontend.python.fingerprint import files_of
from weft.frontend.python.types import KernelType, callees_of
from weft.options import CompileOptions
from weft.runtime.code_key import code_key
from weft.runtime.packing import ArgumentPacker
from weft.runtime.parameters import packer_for
from weft.target.machine import TargetSpec


class KernelSource(Struct, frozen=True):
    """What a kernel is compiled from: the Python function, and how."""

    function: Callable[..., Any]
    options: CompileOptions

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def file(self) -> str:
        return self.function.__code__.co_filename

    @property
    def parameters(self) -> tuple[str, ...]:
        code = self.function.__code__
        return code.co_varnames[: code.co_argcount]


class CompiledKernel(CompiledKernelBase):
    """Machine code for one tuple of argument types, made when it is first launched.

    Attributes
    ----------
    source
        What it is made of.
    captured
        The arrays whose memory its code has the addresses of.
    """

    __slots__ = ("captured", "source")

    def __init__(self, source: KernelSource, types: tuple[KernelType, ...]) -> None:
        self.source = source
        self.captured: tuple[Any, ...] = ()
        super().__init__(types, source.options)

    def ready(self) -> CompiledKernel:
        """The kernel, whose code is made by now if it can run here; otherwise it is made to be looked at."""
        self.make_ready()
        return self

    def _key(self) -> str | None:
        return code_key("kernel", self.source.function, self.types, self.options, TargetSpec.chosen())

    def _files(self) -> Sequence[str]:
        return files_of(self.source.function, *callees_of(self.types))

    def _packer(self) -> ArgumentPacker:
        return packer_for(self.source.name, self.source.parameters, self.types)

    def _start(self) -> Started:
        # Importing the compiler takes longer than loading a kernel from the cache, which does without.
        from weft.cuda.build import start

        started, remarks = start(self.source.function, self.types, self.source.options, self.timings)
        self.captured = started.captured
        return started, remarks
