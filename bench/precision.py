"""How much the analyses prove, over the kernels of `examples/` and of the conformance tests.

Run as ``python -m bench.precision``: the lattices beside each other, LLVM's own uniformity analysis, and the sparse
analyses with the figures of their paper.
"""

from __future__ import annotations

import argparse

from bench import precision_lattices, precision_llvm, precision_sparse
from bench.kernels import all_kernels


def lattices() -> None:
    """Print what each lattice proves."""
    kernels = list(all_kernels())
    print(f"shapes in {len(kernels)} kernels, lane groups of {precision_lattices.WIDTH} along x")
    print(precision_lattices.as_text(precision_lattices.measure(kernels)), end="\n\n")


def llvm() -> None:
    """Print LLVM's answer beside ours."""
    opt = precision_llvm.find_opt()
    if opt is None:
        print("LLVM: no opt with a uniformity printer is installed (Debian: llvm-19)")
        return
    print(precision_llvm.as_text(precision_llvm.compare(opt, all_kernels()), opt), end="\n\n")


def sparse() -> None:
    """Print what the analyses on gated SSA find."""
    print(precision_sparse.as_text(precision_sparse.measure(all_kernels())))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    sections = {"lattices": lattices, "llvm": llvm, "sparse": sparse}
    parser.add_argument("sections", nargs="*", help=f"which of {', '.join(sections)}; default: all")
    chosen = parser.parse_args().sections
    for name in chosen or sections:
        if name not in sections:
            parser.error(f"there is no section {name}")
        sections[name]()


if __name__ == "__main__":
    main()
