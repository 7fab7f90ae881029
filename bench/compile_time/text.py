"""One generated program as text, in Python or in C: statements, ifs and loops over integers and floats."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Text:
    """The body of a kernel or a loop. ``i`` is the iteration, ``n`` how many there are; x, y, z are arrays.

    Parameters
    ----------
    language
        ``"python"`` or ``"c"``.
    kernel
        Whether it is a kernel, with barriers and shared memory.
    """

    def __init__(self, language: str, *, kernel: bool, depth: int) -> None:
        self.is_c = language == "c"
        self.is_kernel = kernel
        self.lines: list[str] = []
        self.depth = depth
        self.names: dict[str, str] = {}
        """The variables, and their types in C."""
        self.shared: list[str] = []
        """Declarations of local memory in OpenCL C, which stand at the head."""

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def set(self, name: str, value: str, type: str = "long") -> str:
        """Assign a variable, which is declared at the head of the program."""
        if "[" not in name:
            self.names.setdefault(name, type)
        self.line(f"{name} = {value}" + ";" * self.is_c)
        return name

    def choice(self, condition: str, yes: str, no: str) -> str:
        return f"({condition} ? {yes} : {no})" if self.is_c else f"({yes} if {condition} else {no})"

    def least(self, a: str, b: str) -> str:
        return self.choice(f"{a} < {b}", a, b) if self.is_c else f"min({a}, {b})"

    def quotient(self, a: str, b: str) -> str:
        return f"{a} / {b}" if self.is_c else f"{a} // {b}"

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        self.line(f"if ({condition}) {{" if self.is_c else f"if {condition}:")
        with self._inside():
            yield

    @contextmanager
    def otherwise(self) -> Iterator[None]:
        self.line("else {" if self.is_c else "else:")
        with self._inside():
            yield

    @contextmanager
    def counting(self, name: str, end: str) -> Iterator[None]:
        if self.is_c:
            self.names.setdefault(name, "long")
            self.line(f"for ({name} = 0; {name} < {end}; {name}++) {{")
        else:
            self.line(f"for {name} in range({end}):")
        with self._inside():
            yield

    @contextmanager
    def _inside(self) -> Iterator[None]:
        self.depth += 1
        yield
        self.depth -= 1
        if self.is_c:
            self.line("}")

    def barrier(self) -> None:
        self.line("barrier(CLK_LOCAL_MEM_FENCE);" if self.is_c else "cuda.syncthreads()")

    def atomic_add(self, place: str, value: str) -> None:
        if self.is_c:
            self.line(f"atomic_add(&{place}, {value});")
        else:
            array, index = place.removesuffix("]").split("[", 1)
            self.line(f"cuda.atomic.add({array}, {index}, {value})")
