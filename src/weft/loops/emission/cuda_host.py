"""What the host does around kernels as text of Python."""

from __future__ import annotations

from collections.abc import Iterator

from weft.ir.types import FloatType
from weft.loops.emission.cuda_python import CudaPython
from weft.loops.emission.printer import ATOM
from weft.loops.emission.tree import Argument, Buffer, Launch, Make, Node, Statement

_OF_NUMPY = {"pow": "power", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "fabs": "abs",
             "fmod": "fmod"}  # fmt: skip
"""Functions that NumPy calls otherwise; unlike Python's, none of them raises an error."""


class HostPrinter(CudaPython):
    """Writes the statements of the host.

    Parameters
    ----------
    copies
        Arrays that have copies, by how the names of these end.

    Attributes
    ----------
    has_grids
        Whether a kernel is launched on a number of threads.
    """

    def __init__(self, copies: dict[str, set[str]]) -> None:
        super().__init__({})
        self._copies = copies
        self.has_grids = False

    def other(self, statement: Statement, space: str) -> Iterator[str]:
        """The lines of a launch, and of an array that is made."""
        if isinstance(statement, Make):
            yield f"{space}{self.made(statement.buffer)}"
            return
        if not isinstance(statement, Launch):
            yield from super().other(statement, space)
            return
        given = ", ".join(self._passed(a) for a in statement.arguments)
        if statement.blocks is None:
            self.has_grids = True
            threads = ", ".join(self.text(t) for t in statement.threads)
            threads = f"({threads}{',' if len(statement.threads) == 1 else ''})"
            yield f"{space}_launch({statement.kernel}, {threads}, {statement.block}, {given})"
        else:
            yield f"{space}{statement.kernel}[{self.text(statement.blocks)}, {statement.block[0]}]({given})"

    def _passed(self, argument: Argument) -> str:
        if argument.is_array:
            ending = next((e for e, arrays in self._copies.items() if argument.name in arrays), "")
            return f"{argument.name}{ending}"
        name = argument.name if argument.value is None else self.text(argument.value)
        if isinstance(argument.type, FloatType) and argument.type.kind == "float":
            self.modules["np"] = None
            return f"np.float32({name})"
        return name

    def made(self, buffer: Buffer) -> str:
        """An array that only kernels use."""
        dtype = self.dtype(buffer.type, buffer.reading)
        if buffer.start is not None:
            full = f"np.full({self.text(buffer.length)}, {self.text(buffer.start)}, {dtype})"
            return f"{buffer.name} = cuda.to_device({full})"
        return f"{buffer.name} = cuda.device_array({self.text(buffer.length)}, {dtype})"

    def _index(self, node: Node) -> str:
        ending = next((e for e, arrays in self._copies.items() if node.text in arrays), "")
        return f"{node.text}{ending}[{', '.join(self.text(a) for a in node.args)}]"

    def _assignment(self, name: str, value: Node) -> str:
        # Python would compute what is updated in place in its own precision.
        own = value.is_float or value.op == "wrap"
        return f"{name} = {self.text(value)}" if own else super()._assignment(name, value)

    def _parts(self, node: Node) -> tuple[str, int]:
        match node.op:
            case "index" if not node.is_float:
                # Numbers of NumPy would stay in their width.
                return f"int({self._index(node)})", ATOM
            case "/t" | "%t":
                name = "_divided" if node.op == "/t" else "_left"
                return self._helped(name, *(self.text(a) for a in node.args))
            case _:
                return super()._parts(node)

    def _helped(self, name: str, *given: str) -> tuple[str, int]:
        self.helpers[name] = None
        return f"{name}({', '.join(given)})", ATOM

    def _reading(self, node: Node) -> tuple[str, int]:
        if node.op == "signed" and node.bits < 64:
            return self._helped("_signed", self.text(node.args[0]), str(node.bits))
        return super()._reading(node)

    def _wrapped(self, node: Node) -> tuple[str, int]:
        if node.bits == 64:
            return self._helped("_signed", self.text(node.args[0]), "64")
        return super()._wrapped(node)

    def _binary(self, node: Node) -> tuple[str, int]:
        if not node.is_float or node.op not in ("+", "-", "*", "/"):
            return super()._binary(node)
        text, level = super()._binary(node)
        if node.op == "/":
            # A division by 0 is no error.
            text, level = f"np.divide({self.text(node.args[0])}, {self.text(node.args[1])})", ATOM
            self.modules["np"] = None
        return self._rounded(node, text, level)

    def _float(self, node: Node) -> tuple[str, int]:
        return self._rounded(node, *super()._float(node))

    def _rounded(self, node: Node, text: str, level: int) -> tuple[str, int]:
        """A number in its precision: of 32 bits it is that of 64 bits, rounded, for one operation."""
        if node.bits == 64:
            return text, level
        self.modules["np"] = None
        return f"np.float32({text})", ATOM

    def _call(self, node: Node) -> str:
        if not node.is_float:
            return super()._call(node)
        self.modules["np"] = None
        name = _OF_NUMPY.get(node.text, node.text)
        return self._rounded(node, f"np.{name}({', '.join(self.text(a) for a in node.args)})", ATOM)[0]
