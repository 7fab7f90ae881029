"""One measurement in a process of its own: ``python -m bench.probe PEER WHAT [WORKLOAD]`` prints seconds.

``import`` times the import that a user writes; ``first`` the first call of a kernel, imports done, to its
result: loading LLVM is part of it. Whether the disk cache helps is up to the environment of the process.
"""

from __future__ import annotations

import importlib
import sys
import time

IMPORTS = {"weft": "weft.cuda", "numba": "numba", "numba-cuda simulator": "numba.cuda"}


def import_time(peer: str) -> float:
    begin = time.perf_counter()
    importlib.import_module(IMPORTS[peer])
    return time.perf_counter() - begin


def first_call(peer: str, workload_name: str) -> float:
    from bench.workloads import WORKLOADS, launch

    workload = WORKLOADS[workload_name]()
    output = workload.output()
    if peer == "weft":
        begin = time.perf_counter()
        launch(workload, output)
    else:
        import numba

        from bench.loops import LOOPS

        begin = time.perf_counter()
        numba.njit(cache=peer == "numba, cached")(LOOPS[workload_name])(*workload.inputs, output)
    seconds = time.perf_counter() - begin
    complaint = workload.complaint(output)
    if complaint:
        raise SystemExit(f"{peer}: {complaint}")
    return seconds


def main() -> None:
    peer, what, *workload = sys.argv[1:]
    print(import_time(peer) if what == "import" else first_call(peer, *workload))


if __name__ == "__main__":
    main()
