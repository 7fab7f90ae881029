"""A row as a Halide pipeline, scheduled by Halide's own autoscheduler (Adams 2019), where its wheel is installed.

The text of the nest is evaluated with Halide's variables for counters and images for arrays: what is stored is the
pipeline's output. An inner loop that adds up becomes an update over a reduction domain. A nest with several stores has
no pipeline here.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

os.environ.setdefault("HL_NUM_THREADS", "1")


class _Image:
    """An array as the text indexes it, the innermost dimension last; `clamped` promises that indices are inside."""

    def __init__(self, image: Any, clamped: Callable[[Any, int], Any]) -> None:
        self.image, self.clamped = image, clamped

    def __getitem__(self, indices: Any) -> Any:
        return self.image[[self.clamped(index, axis) for axis, index in reversed(list(enumerate(indices)))]]


class _Choices(ast.NodeTransformer):
    """Conditions in Halide's words, and numbers with their type."""

    def __init__(self, real: str) -> None:
        self.real = real

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        return ast.Call(ast.Name("select", ast.Load()), [node.test, node.body, node.orelse], [])

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        op = ast.BitAnd() if isinstance(node.op, ast.And) else ast.BitOr()
        found = node.values[0]
        for value in node.values[1:]:
            found = ast.BinOp(found, op, value)
        return found

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if not isinstance(node.value, float):
            return node
        return ast.Call(ast.Name(self.real, ast.Load()), [node], [])


def halide_pipeline(source: str, arrays: dict[str, Any]) -> Callable[..., Any] | None:
    """A function of the arrays that runs the pipeline; None where Halide is not there, or the nest has several stores.

    Parameters
    ----------
    arrays
        The arrays by the names of the parameters, in their order; what is written is ``b``.
    """
    try:
        hl: Any = import_module("halide")
    except ImportError:
        return None
    written = re.findall(r"^ *b\[([^\]]*)\] = ", source, re.MULTILINE)
    if len(written) != 1:
        return None
    out = arrays["b"]
    types = {"float64": hl.Float(64), "float32": hl.Float(32), "uint8": hl.UInt(8)}
    images = {k: hl.ImageParam(types[x.dtype.name], x.ndim) for k, x in arrays.items() if k != "b"}
    real = "f64" if out.dtype == np.float64 else "f32"

    def clamped(name: str) -> Callable[[Any, int], Any]:
        # Where numbers of the program are indices Halide cannot tell what it reads.
        if "int(" not in source or name == "a":
            return lambda index, axis: index
        shape = arrays[name].shape
        return lambda index, axis: hl.unsafe_promise_clamped(index, 0, shape[axis] - 1)

    scope: dict[str, Any] = {k: _Image(image, clamped(k)) for k, image in images.items()}
    scope |= {
        "int": hl.i32,
        "np": SimpleNamespace(float32=hl.f32),
        "select": hl.select,
        "f32": hl.f32,
        "f64": hl.f64,
    }
    loops = re.findall(r"for (\w+) in prange\((?:(.*), )?(.*)\):", source)
    ranges = {v: tuple(int(eval(t or "0", dict(arrays))) for t in (low, high)) for v, low, high in loops}
    scope |= {v: hl.Var(v) for v in ranges}
    body = source.split("\n", len(loops) + 1)[-1]
    reduced = re.search(r"(\w+) = 0.0\n +for (\w+) in range\((.*)\):\n +\1 \+= (.*)\n", body)
    if reduced:
        name, counter, bound, term = reduced.groups()
        domain = hl.RDom([(0, int(eval(bound, dict(arrays))))], counter)
        sums, where = hl.Func(name), [scope[v] for v in reversed(ranges)]
        scope[counter] = domain.x
        sums[where] = getattr(hl, real)(0.0)
        sums[where] += _evaluated(term, real, scope)
        scope[name] = sums[where]
        body = body.replace(reduced.group(), "")
    for line in filter(None, map(str.strip, body.split("\n"))):
        target, value = re.split(r" \+?= ", line, maxsplit=1)
        found = _evaluated(value, real, scope)
        added = scope[target] + found if " += " in line else found
        scope["b" if target.startswith("b[") else target] = added
    places = [re.fullmatch(r"(\w+)(?: \+ (\d+))?", index) for index in written[0].split(", ")]
    names = [p[1] for p in places if p]
    result = hl.Func("b")
    result[[scope[v] for v in reversed(names)]] = hl.cast(types[out.dtype.name], scope["b"])
    result.set_estimates([hl.Range(ranges[v][0], ranges[v][1] - ranges[v][0]) for v in reversed(names)])
    for k, image in images.items():
        image.set_estimates([hl.Range(0, n) for n in reversed(arrays[k].shape)])
    hl.load_plugin(str(Path(hl.__file__).parent / "lib64" / "libautoschedule_adams2019.so"))
    pipeline, target = hl.Pipeline(result), hl.get_host_target()
    pipeline.apply_autoscheduler(target, hl.AutoschedulerParams("Adams2019", {"parallelism": "1"}))
    pipeline.compile_jit(target)
    offsets = [int(p[2] or 0) for p in places if p]

    def run(*given: Any) -> None:
        by_name = dict(zip(arrays, given, strict=True))
        for k, image in images.items():
            image.set(hl.Buffer(by_name[k]))
        inside = tuple(slice(ranges[v][0] + o, ranges[v][1] + o) for v, o in zip(names, offsets, strict=True))
        buffer = hl.Buffer(by_name["b"][inside])
        buffer.set_min([ranges[v][0] for v in reversed(names)])
        pipeline.realize(buffer)

    return run


def _evaluated(text: str, real: str, scope: dict[str, Any]) -> Any:
    tree = ast.fix_missing_locations(_Choices(real).visit(ast.parse(text, mode="eval")))
    return eval(compile(tree, "<row>", "eval"), scope)
