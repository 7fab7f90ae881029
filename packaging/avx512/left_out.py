"""A plugin of pytest: skips what stand-ins for instructions say nothing about (`stand_in`)."""

from __future__ import annotations

import pytest
from stand_in import is_needed

LEFT_OUT = {
    "codegen/test_slow_gathers.py::test_which_cores": "asks what the processor is",
    "codegen/test_vector_math.py::test_approximate_powers_that_are_subnormal": "instructions for exponents",
    "codegen/test_vector_math.py::test_passive_lanes_are_left_to_functions": "instructions for exponents",
    "loops/test_functions.py::test_lanes_give_what_the_function_gives": "objects are linked with a program in C",
    "target/test_machine.py::test_level_decides_registers": "reads assembly",
    "target/test_own_math.py::test_approximate_powers_have_zero": "instructions for exponents",
    "target/test_own_math.py::test_what_has_no_slow_path": "instructions for exponents",
    "target/test_short_fills.py::test_how_short_a_run_is": "reads assembly",
    "transform/test_inverse_roots.py::test_machine_code": "reads assembly",
}
"""Tests of what is another's here, and what that is."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Say of each such test why it is not run."""
    for item in items if is_needed() else ():
        for test, why in LEFT_OUT.items():
            if test in item.nodeid:
                item.add_marker(pytest.mark.skip(reason=why))
