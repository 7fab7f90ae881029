"""How much the analyses prove, over the kernels of `examples/` and of the conformance tests.

Run as ``python -m bench.precision``: the lattices beside each other, then LLVM's own uniformity analysis.
"""

from __future__ import annotations

import argparse

from bench import precision_lattices, precision_llvm
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
    print(precision_llvm.as_text(precision_llvm.compare(opt, all_kernels()), opt))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    sections = {"lattices": lattices, "llvm": llvm}
    parser.add_argument("sections", nargs="*", help=f"which of {', '.join(sections)}; default: all")
    chosen = parser.parse_args().sections
    for name in chosen or sections:
        if name not in sections:
            parser.error(f"there is no section {name}")
        sections[name]()


if __name__ == "__main__":
    main()
