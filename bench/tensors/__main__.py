"""Brushes beside vectorizing the innermost loop, as tables in Markdown: ``python -m bench.tensors [kernels]``.

``--only brushes``: each kernel by all brushes, over the innermost loop in a register (Moll, Fig. 13.11 and 13.12); a
copy beside it says what memory allows. ``choice``: what the cost model chooses, and how near it comes to the best.
``layouts``: some of these on arrays in blocks (§11.7), what to convert them takes, and after how many sweeps it pays.
``mix``: shuffles, arithmetic and memory in the machine code (Fig. 13.13), with ``--plot FILE`` as its three plots.
``peers``: gcc, clang, ISPC, numba and Halide, what of them there is. ``rows``: further nests beside these, SciPy,
OpenCV and OpenBLAS. All peers run on one thread.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import linecache
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from ctypes import CDLL, c_long, c_void_p
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import weft
from bench.tensors.halide_peer import halide_pipeline
from bench.tensors.kernels import KERNELS, STENCILS, TRANSPOSE, Task, function_of, reach, task
from bench.tensors.rows import Row, c_source, ispc_source, rows
from weft.brush import Brush, brush_of

TABLES = ("brushes", "layouts", "choice", "mix", "peers", "rows")
BLOCKS = ((2, 2), (4, 4), (2, 8), (1, 8))
IN_BLOCKS = ((2, 8), (4, 8), (8, 8), (4, 16), (8, 4))
SIDES = (1, 2, 4, 8, 16, 32)
INNERMOST = "innermost"
Run = Callable[[], Any]

THESIS = {
    "Jacobi-5": (0.98, 1.11), "Seidel-9": (1.04, 1.04), "Jacobi-9": (1.09, 1.25),
    "Seidel-25": (1.29, 1.20), "sparse Jacobi-5": (1.02, 1.26), TRANSPOSE: (3.92, 2.00),
}  # fmt: skip
"""The thesis's best on one core, in the usual layout and in blocks of 2 by 2."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kernels", nargs="*", default=KERNELS, help="kernels, or rows; all by default")
    parser.add_argument("--size", type=int, default=1024, help="rows and columns")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--plot", type=Path, help="where to draw the instruction mix, as a PNG or PDF")
    parser.add_argument("--only", choices=TABLES, action="append", help="these tables only")
    options = parser.parse_args()
    weft.set_num_threads(options.threads)
    for name in options.only or TABLES:
        size = "" if name == "rows" else f" {options.size} by {options.size} doubles,"
        print(f"\n### {name}:{size} {options.threads} thread(s)\n", flush=True)
        _TABLES[name](options)


def compiled(source: str, label: str, **asked: Any) -> Any:
    """A kernel by the options of `weft.jit`."""
    name = f"<{label}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"prange": weft.prange, "np": np}
    exec(compile(source, name, "exec"), scope)
    return weft.jit(scope["kernel"], **asked)


def times(runs: dict[str, Run], rounds: int, size: int) -> dict[str, float]:
    """Seconds of each, the first quartile of rounds in which all take turns, in another order in each.

    CPU time of one thread, and elapsed time of several; other programs that share memory lengthen both.
    """
    clock = time.process_time if weft.get_num_threads() == 1 else time.perf_counter
    order = list(runs.items())
    rng = random.Random(1)
    taken: dict[str, list[float]] = {name: [] for name in runs}
    repeat = max(1, 2_000_000 // size**2)
    for run in runs.values():
        run()
    for _ in range(rounds):
        rng.shuffle(order)
        for name, run in order:
            begin = clock()
            for _ in range(repeat):
                run()
            taken[name].append((clock() - begin) / repeat)
    return {
        name: statistics.quantiles(seconds, n=4, method="inclusive")[0] for name, seconds in taken.items()
    }


def _checked(kernel: Any, work: Task, label: str) -> Run:
    work.b[...] = 0
    kernel(work.a, work.b)
    if not np.allclose(work.b, work.wanted, rtol=1e-12):
        raise AssertionError(f"{label} computes something else")
    return lambda: kernel(work.a, work.b)


def _show_layouts(options: argparse.Namespace) -> None:
    heads = [f"{b} {'x'.join(map(str, t))}" for t in BLOCKS for b in ("best brush,", "there and back,")]
    print(f"| kernel | usual layout | {' | '.join(heads)} | pays after |\n|---|{'---:|' * (len(heads) + 2)}")
    for kernel in options.kernels:
        work = task(kernel, options.size)
        runs: dict[str, Run] = {INNERMOST: _checked(compiled(work.source, kernel, width=8), work, kernel)}
        for block in (None, *BLOCKS):
            name = "x".join(map(str, block)) if block else "rows"
            arrays = work if block is None else _in_blocks(work, block)
            if block is not None:
                runs[f"{name} made"] = lambda block=block, work=work: _there_and_back(work, block)
            for brush in IN_BLOCKS:
                label = f"{name} {brush[0]}x{brush[1]}"
                runs[label] = _checked(
                    compiled(work.source, f"{kernel} {label}", brush=brush), arrays, f"{kernel} {label}"
                )
        found = times(runs, options.rounds, options.size)
        base = found[INNERMOST]

        def best(name: str, found: dict[str, float] = found) -> tuple[float, str]:
            return min((t, k.split()[1]) for k, t in found.items() if k.startswith(name) and "made" not in k)

        usual, brush = best("rows")
        usual = min(usual, base)
        cells, pays = [f"{base / usual:.2f} ({brush})"], "never"
        for block in BLOCKS:
            name = "x".join(map(str, block))
            (taken, brush), made = best(name), found[f"{name} made"]
            cells += [f"{base / taken:.2f} ({brush})", f"{made / usual:.1f} sweeps"]
            if taken < usual:
                pays = f"{made / (usual - taken):.0f} sweeps ({name})"
        print(f"| {kernel} | {' | '.join(cells)} | {pays} |", flush=True)


def _in_blocks(work: Task, block: tuple[int, ...]) -> Task:
    a, b = (weft.tiled(x, block, origin=(work.border,) * 2) for x in (work.a, work.b))
    return Task(work.source, a, b, work.wanted, work.border)


def _there_and_back(work: Task, block: tuple[int, ...]) -> None:
    """Convert what is read, and back what is written."""
    weft.tiled(work.a, block, origin=(work.border,) * 2).to_array(work.b)


def _brushes() -> list[Brush]:
    made = (brush_of((high, wide)) for high in SIDES for wide in SIDES if 8 <= high * wide <= 64)
    return [b for b in made if isinstance(b, Brush)]


def _runs(kernel: str, work: Task, brushes: Sequence[Brush]) -> dict[str, Run]:
    runs = {INNERMOST: _checked(compiled(work.source, f"{kernel} inner", width=8), work, kernel)}
    for brush in brushes:
        made = compiled(work.source, f"{kernel} {brush}", brush=brush.extents)
        runs[str(brush)] = _checked(made, work, f"{kernel} {brush}")
    return runs


def _copy(work: Task) -> Run:
    a, b = np.ascontiguousarray(work.a), np.empty_like(work.a)
    return lambda: np.copyto(b, a)


def _show_brushes(options: argparse.Namespace) -> None:
    brushes = _brushes()
    for kernel in options.kernels:
        work = task(kernel, options.size)
        found = times({**_runs(kernel, work, brushes), "copy": _copy(work)}, options.rounds, options.size)
        base = found[INNERMOST]
        print(
            f"{kernel}: innermost loop {1e6 * base:.0f} us, a copy {base / found['copy']:.2f} of its speed\n"
        )
        print(f"| rows | {' | '.join(map(str, SIDES))} |\n|---|{'---:|' * len(SIDES)}")
        for high in SIDES:
            cells = [f"{base / found[k]:.2f}" if (k := f"{high}x{w}") in found else "" for w in SIDES]
            print(f"| {high} | {' | '.join(cells)} |")
        best = max((b for b in map(str, brushes)), key=lambda b: base / found[b])
        usual, blocked = THESIS[kernel]
        print(
            f"\nbest {best}: {base / found[best]:.2f} (thesis {usual}, in 2x2 blocks {blocked})\n", flush=True
        )


def _show_choice(options: argparse.Namespace) -> None:
    heads = "chosen | speed | measured | speed | best | speed | chosen over best | measured over best"
    print(f"| kernel | {heads} |\n|---|---|---:|---|---:|---|---:|---:|---:|")
    for kernel in options.kernels:
        work = task(kernel, options.size)
        auto = compiled(work.source, f"{kernel} auto", brush="auto")
        tuned = compiled(work.source, f"{kernel} tuned", brush="auto", tune="measure")
        others = {
            "auto": _checked(auto, work, f"{kernel} auto"),
            "tuned": _checked(tuned, work, f"{kernel} tuned"),
        }
        runs = _runs(kernel, work, _brushes()) | others
        first = times(runs, options.rounds, options.size)
        best = min((b for b in runs if b not in others), key=lambda b: first[b])
        # The best of many is so by luck, too: it is held against the others in rounds of their own.
        finalists = {b: runs[b] for b in (INNERMOST, best, *others)}
        found = times(finalists, 3 * options.rounds, options.size)
        chosen, base = _chosen(auto) or INNERMOST, found[INNERMOST]
        (measured,) = tuned.overloads.values()
        cells = [f"{base / found[b]:.2f}" for b in ("auto", "tuned", best)]
        over = [f"{found[best] / found[b]:.2f}" for b in ("auto", "tuned")]
        kept = measured.options.brush or INNERMOST
        print(
            f"| {kernel} | {chosen} | {cells[0]} | {kept} | {cells[1]} | {best} | {cells[2]} | {' | '.join(over)} |",
            flush=True,
        )


def _chosen(compiled: Any) -> str | None:
    """The brush that the cost model has chosen; None for none."""
    found = re.search(r"as a box of (\w+), which takes", " ".join(map(str, compiled.remarks)))
    return found.group(1) if found else None


_KINDS = {
    "shuffles": re.compile(r"\bv(shuf|perm|insert|extract|unpck|valign|align|broadcast)\w*"),
    "arithmetic": re.compile(r"\bv(add|mul|sub|div|fmadd|fmsub|fnm)\w*"),
    "memory": re.compile(r"\bvmov\w*[^\n]*\("),
}


def _show_mix(options: argparse.Namespace) -> None:
    points: list[tuple[list[float], float]] = []
    print("| kernel | brush | shuffles % | arithmetic % | memory % | speed |\n|---|---|---:|---:|---:|---:|")
    for kernel in options.kernels:
        work = task(kernel, options.size)
        runs = _runs(kernel, work, _brushes())
        found = times(runs, max(5, options.rounds // 3), options.size)
        for brush in _brushes():
            made = compiled(work.source, f"{kernel} {brush}", brush=brush.extents)
            made(work.a, work.b)
            text = "".join(made.inspect_asm().values())
            counts = {kind: len(pattern.findall(text)) for kind, pattern in _KINDS.items()}
            whole = max(1, sum(counts.values()))
            parts, speed = (
                [100 * counts[kind] / whole for kind in _KINDS],
                found[INNERMOST] / found[str(brush)],
            )
            if kernel != TRANSPOSE:
                points.append((parts, speed))
            cells = [f"{part:.0f}" for part in parts]
            print(f"| {kernel} | {brush} | {' | '.join(cells)} | {speed:.2f} |", flush=True)
    if options.plot is not None:
        _draw_mix(options.plot, points)


def _draw_mix(file: Path, points: Sequence[tuple[Sequence[float], float]]) -> None:
    """Fig. 13.13: the part of each kind of instruction over the speed, a point for each stencil and brush."""
    pyplot: Any = importlib.import_module("matplotlib.pyplot")
    figure, axes = pyplot.subplots(1, len(_KINDS), figsize=(12, 4), sharex=True)
    for k, (kind, axis) in enumerate(zip(_KINDS, axes, strict=True)):
        axis.scatter([speed for _, speed in points], [parts[k] for parts, _ in points], s=12)
        axis.axvline(1, color="black", linewidth=0.5)
        axis.set_xlabel("speed over the innermost loop")
        axis.set_ylabel(f"{kind}, % of vector instructions")
    figure.tight_layout()
    figure.savefig(file, dpi=120)
    print(f"\n{file}")


def _c_source(kernel: str) -> str:
    head = "void kernel(long n, long m, double *restrict b, const double *restrict a) {\n"
    if kernel == TRANSPOSE:
        body = "for (long j = 0; j < n; j++) for (long i = 0; i < m; i++) b[i*n + j] = a[j*m + i];"
        return head + body + "}\n"
    points = STENCILS[kernel]
    border = reach(points)
    total = " + ".join(f"a[(j + {j})*m + i + {i}]" for j, i in points)
    loops = "".join(
        f"for (long {v} = {border}; {v} < {n} - {border}; {v}++) " for v, n in (("j", "n"), ("i", "m"))
    )
    return f"{head}{loops}b[j*m + i] = {1 / len(points)!r} * ({total});}}\n"


def _c_peer(compiler: str, kernel: str, folder: Path) -> Any:
    function = _built(compiler, _c_source(kernel), kernel, folder)
    function.argtypes = (c_long, c_long, c_void_p, c_void_p)
    return lambda a, b: function(*a.shape, b.ctypes.data, a.ctypes.data)


def _ispc_peer(work: Task, kernel: str, folder: Path) -> Any:
    """A kernel of two arrays as a row, whose weights nobody reads."""
    weights = np.zeros(1)
    run = _c_row("ispc", kernel.replace(" ", "-"), Row(work.source, work.a, work.b, weights), folder)
    return lambda a, b: run(a, b, weights)


def _numba_peer(source: str) -> Any:
    import numba

    numba.set_num_threads(1)
    return numba.njit(function_of(source.replace("prange", "range"), range))


def _show_peers(options: argparse.Namespace) -> None:
    peers = [c for c in ("gcc", "clang", "clang-19") if shutil.which(c)]
    columns = [*peers, *(["ispc"] if shutil.which("ispc") else []), "numba", "Halide", "weft auto"]
    print(
        f"| kernel | {' | '.join(columns)} | weft over the best peer |\n|---|{'---:|' * (len(columns) + 1)}"
    )
    with tempfile.TemporaryDirectory() as folder:
        for kernel in options.kernels:
            work = task(kernel, options.size)
            runs = {INNERMOST: _checked(compiled(work.source, f"{kernel} inner", width=8), work, kernel)}
            for peer in peers:
                runs[peer] = _checked(_c_peer(peer, kernel, Path(folder)), work, f"{peer} {kernel}")
            if "ispc" in columns:
                runs["ispc"] = _checked(_ispc_peer(work, kernel, Path(folder)), work, f"ISPC {kernel}")
            with contextlib.suppress(ImportError):
                runs["numba"] = _checked(_numba_peer(work.source), work, f"numba {kernel}")
            if (pipeline := halide_pipeline(work.source, {"a": work.a, "b": work.b})) is not None:
                runs["Halide"] = _checked(pipeline, work, f"Halide {kernel}")
            runs["weft auto"] = _checked(compiled(work.source, f"{kernel} auto", brush="auto"), work, kernel)
            found = times(runs, options.rounds, options.size)
            base = found[INNERMOST]
            cells = [f"{base / found[c]:.2f}" if c in found else "-" for c in columns]
            best = min(found[c] for c in columns[:-1] if c in found)
            print(f"| {kernel} | {' | '.join(cells)} | {best / found['weft auto']:.2f} |", flush=True)


def _show_rows(options: argparse.Namespace) -> None:
    compilers = [c for c in ("gcc", "clang", "clang-19") if shutil.which(c)]
    columns = [
        INNERMOST,
        "weft",
        *compilers,
        *(["ispc"] if shutil.which("ispc") else []),
        "numba",
        "Halide",
        "library",
    ]
    print(f"| nest | brush | {' | '.join(columns)} | weft over the best peer |")
    print(f"|---|---|{'---:|' * (len(columns) + 1)}")
    over: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        asked = options.kernels if options.kernels is not KERNELS else rows()
        for name, make in ((name, make) for name, make in rows().items() if name in asked):
            row = make()
            wanted = np.zeros_like(row.b)
            numba = _numba_peer(row.source)
            numba(row.a, wanted, row.w)
            auto = compiled(row.source, f"{name} auto")
            kernels = {INNERMOST: compiled(row.source, name, brush=False), "weft": auto, "numba": numba}
            kernels |= {c: _c_row(c, name, row, Path(folder)) for c in compilers} | dict(row.libraries)
            if "ispc" in columns:
                kernels["ispc"] = _c_row("ispc", name, row, Path(folder))
            pipeline = halide_pipeline(row.source, {"a": row.a, "b": row.b, "w": row.w})
            if pipeline is not None:
                kernels["Halide"] = pipeline
            runs: dict[str, Run] = {}
            for label, kernel in kernels.items():
                row.b[...] = 0
                kernel(row.a, row.b, row.w)
                # Libraries have other borders.
                inside = tuple(slice(3, -3) if row.b.shape[-1] > 9 else slice(None) for _ in row.b.shape)
                if not np.allclose(row.b[inside], wanted[inside], rtol=1e-4, atol=1e-4):
                    if label in (INNERMOST, "weft"):
                        raise AssertionError(f"{label} computes something else for {name}")
                    print(f"{label} computes something else for {name}", file=sys.stderr)
                    continue
                runs[label] = lambda kernel=kernel, row=row: kernel(row.a, row.b, row.w)
            found = times(runs, options.rounds, int(row.b.size**0.5))
            chosen = _chosen(auto)
            over.append(min(t for k, t in found.items() if k not in (INNERMOST, "weft")) / found["weft"])
            cells = [f"{1e6 * found[c]:.0f} us" if c in found else "-" for c in columns[:-1]]
            best = min(row.libraries, key=lambda c: found[c], default=None)
            cells.append(f"{1e6 * found[best]:.0f} us ({best})" if best else "-")
            print(f"| {name} | {chosen or '-'} | {' | '.join(cells)} | {over[-1]:.2f} |", flush=True)
    print(f"\ngeometric mean {statistics.geometric_mean(over):.2f}")


def _c_row(compiler: str, name: str, row: Row, folder: Path) -> Any:
    label = re.sub(r"\W+", "-", name)
    text = ispc_source(row) if compiler == "ispc" else c_source(row)
    function = _built(compiler, text, label, folder)
    arrays = (row.a, row.b, row.w)
    function.argtypes = [c_void_p] * 3 + [c_long] * sum(x.ndim for x in arrays)

    def run(*given: Any) -> None:
        function(*(x.ctypes.data for x in given), *(n for x in given for n in x.shape))

    return run


def _built(compiler: str, text: str, label: str, folder: Path) -> Any:
    source, library = folder / f"{compiler}-{label}.c", folder / f"{compiler}-{label}.so"
    source.write_text(text)
    if compiler == "ispc":
        made = source.with_suffix(".o")
        command = ["ispc", "-O3", "--target=host", "--pic", "--woff", "-o", made, source]
        subprocess.run(command, check=True, capture_output=True)
        subprocess.run(["gcc", "-shared", "-o", library, made], check=True, capture_output=True)
        return CDLL(str(library)).kernel
    flags = ["-O3", "-march=native", "-shared", "-fPIC", "-mprefer-vector-width=512"]
    subprocess.run([compiler, *flags, "-o", library, source], check=True, capture_output=True)
    return CDLL(str(library)).kernel


_TABLES: dict[str, Callable[[argparse.Namespace], None]] = {
    "brushes": _show_brushes,
    "layouts": _show_layouts,
    "choice": _show_choice,
    "mix": _show_mix,
    "peers": _show_peers,
    "rows": _show_rows,
}


if __name__ == "__main__":
    main()
