"""Kernels that run on a GPU, and otherwise are as all kernels are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from weft.cuda.arguments import Types, types_of
from weft.cuda.compiled import CompiledKernel
from weft.cuda.gpu.arguments import PackedArguments, gpu_typeof
from weft.cuda.gpu.driver import Driver, the_driver
from weft.cuda.kernel import Kernel
from weft.cuda.terms import LaunchTerms
from weft.cuda.to_ptx import ptx_of
from weft.cuda.transfers import prepared
from weft.device.arrays import DeviceArray
from weft.diag.errors import ArgumentError, GpuError, SignatureError
from weft.options import CompileOptions
from weft.ptx_kernel import PtxKernel
from weft.runtime.shape import LaunchShape


class GpuKernel(Kernel):
    """A kernel whose launches run on the GPU of this machine.

    Parameters
    ----------
    function, options, signatures
        As for `Kernel`.
    max_registers
        Registers that a thread may have.
    driver
        The GPU; by default that of this machine, which is looked for at the first launch.
    terms
        What it asks of its launches.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        options: CompileOptions | None = None,
        signatures: Sequence[Any] = (),
        max_registers: int | None = None,
        driver: Driver | None = None,
        terms: LaunchTerms | None = None,
    ) -> None:
        self._max_registers = max_registers
        self._driver = driver
        self._loaded: dict[Types, tuple[Any, PtxKernel]] = {}
        super().__init__(function, options, terms=terms)
        self._declared = [self._types(signature) for signature in signatures]

    def launch(self, shape: LaunchShape, args: tuple[Any, ...]) -> None:
        """Run the kernel over the grid of `shape`, and wait for it.

        Raises
        ------
        GpuError
            There is no GPU, or its driver refused the kernel.
        ArgumentError
            The arguments do not fit.
        """
        finish: list[Callable[[], Any]] = []
        if self.extensions:
            args, finish = prepared(self.extensions, args)
        host = tuple(a.array if type(a) is DeviceArray else a for a in args)
        types = tuple(gpu_typeof(value) for value in host)
        self._require_as_many(types, ArgumentError)
        if self._declared and types not in self._declared:
            listed = "; ".join(", ".join(map(str, types)) for types in self._declared)
            raise ArgumentError(
                f"{self.py_func.__name__} was declared for other types", hint=f"it was declared for {listed}"
            )
        driver = self._driver or the_driver()
        kernel, _ = self._load(driver, types)
        packed = PackedArguments(driver)
        try:
            for type_, value in zip(types, host, strict=True):
                packed.add(type_, value)
            addresses = packed.buffer()
            driver.launch(kernel, shape.grid, shape.block, shape.dynamic_bytes, 0, addresses.start)
            driver.synchronize(0)
            packed.finish()
        finally:
            packed.release()
        for call in finish:
            call()

    def compile(self, signature: Any) -> CompiledKernel:
        """Refuse to make code for a CPU: for the GPU it is made at the first launch.

        Raises
        ------
        GpuError
            Always.
        """
        raise GpuError(
            f"{self.py_func.__name__} is compiled when it is launched on a GPU",
            hint="inspect_ptx(signature) shows its code",
        )

    def inspect_ptx(
        self,
        signature: Any = None,
        arch: str = "sm_75",
        *,
        lines: bool = True,
        max_registers: int | None = None,
    ) -> Any:
        """As of any kernel, with the registers that this one was declared with; without a signature what was loaded."""
        registers = self._max_registers if max_registers is None else max_registers
        if signature is not None:
            return super().inspect_ptx(signature, arch, lines=lines, max_registers=registers)
        return {types: made.text for types, (_, made) in self._loaded.items()}

    @property
    def signatures(self) -> list[Types]:
        """The argument types that it was declared for, and those loaded so far."""
        return list(dict.fromkeys((*self._declared, *self._loaded)))

    def _options(self) -> tuple[Any, ...]:
        return self._source.options, self._declared, self._max_registers, None, self._terms

    def _load(self, driver: Driver, types: Types) -> tuple[Any, PtxKernel]:
        found = self._loaded.get(types)
        if found is None:
            made = self._ptx(types, driver.architecture())
            found = self._loaded[types] = driver.load(made.text, made.entry), made
        return found

    def _ptx(self, types: Types, arch: str) -> PtxKernel:
        return ptx_of(
            self.py_func,
            types,
            arch,
            fastmath=self.fastmath,
            max_registers=self._max_registers,
            scalar_replacement=self.scalar_replacement,
        )

    def _types(self, signature: Any) -> Types:
        types = types_of(signature)
        self._require_as_many(types, SignatureError)
        return types
