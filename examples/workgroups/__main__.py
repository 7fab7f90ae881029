"""Runs the examples named on the command line, or all."""

from __future__ import annotations

import argparse
import importlib

NAMES = (
    "reduction",
    "scan",
    "matrix_product",
    "transpose",
    "convolution",
    "dct",
    "bitonic_sort",
    "histogram",
    "nbody",
    "radix_sort",
    "spmv",
    "bfs",
    "kmeans",
    "smith_waterman",
    "walsh",
    "floyd_warshall",
)


def main() -> None:
    parser = argparse.ArgumentParser(description="Work-group kernels, checked against NumPy and SciPy.")
    parser.add_argument("names", nargs="*", choices=[*NAMES, []], help="which examples (default: all)")
    parser.add_argument("--size", type=int, help="problem size, in the example's own unit")
    options = parser.parse_args()
    for name in options.names or NAMES:
        module = importlib.import_module(f"examples.workgroups.{name}")
        module.main(options.size or module.SIZE)


if __name__ == "__main__":
    main()
