"""Runs the applications named on the command line, or all, and says how long each version takes."""

from __future__ import annotations

import argparse
import time

from examples.opencl.applications import APPLICATIONS, HERE, error_of, run
from weft import opencl

VERSIONS = {
    "scalar": {"width": 1},
    "naive": {"uniform_values": False, "uniform_control": False, "boscc": "off"},
    "UniVal": {"uniform_control": False, "boscc": "off"},
    "UniCF": {},
}
"""The columns of Table 1, by options of `weft.opencl.Program`."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description="The applications of Karrenberg and Hack's Table 1 in OpenCL C."
    )
    parser.add_argument("names", nargs="*", choices=[*APPLICATIONS, []], help="which (default: all)")
    parser.add_argument("--scale", type=float, default=0.05, help="of the sizes in the paper's table")
    options = parser.parse_args()
    print(f"{'milliseconds':22}" + "".join(f"{version:>10}" for version in VERSIONS))
    for name in options.names or APPLICATIONS:
        times = [_time(name, options.scale, version) for version in VERSIONS]
        print(f"{name:22}" + "".join(f"{1e3 * seconds:10.2f}" for seconds in times), flush=True)


def _time(name: str, scale: float, version: str) -> float:
    """Seconds of the second run, behind a first one that is checked."""
    application = APPLICATIONS[name](scale)
    program = opencl.Program(HERE / f"{name}.cl", application.options, **VERSIONS[version])
    run(application, program)
    error = error_of(application)
    if error > application.tolerance:
        raise SystemExit(f"{name} ({version}) is wrong: off by {error:.2g} of the largest number")
    start = time.perf_counter()
    run(application, program)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
