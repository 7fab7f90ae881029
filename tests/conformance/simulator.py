"""Compares the plain Python execution with numba-cuda's simulator: ``python -m conformance.simulator``.

Runs in a process of its own, where the simulator stands in for `weft.cuda`. What the two cannot agree on is
listed with the reason. One case in `SHARE` is compared; with ``WEFT_FUZZ`` all are.
"""

from __future__ import annotations

import importlib
import os
import sys
import zlib
from types import ModuleType

WEAK = "thread ids and Python integers are weak int64 here, plain integers there"
NARROW = "bit functions work on 32 bits there"
FLAGS = "conversions out of range raise or wrap there"
STRIDES = "arrays must be contiguous and writable there"
DOMAIN = "Python's math raises outside the domain"
GRID = "blocks run one after the other there, whatever barriers of the grid say"

DIFFERENT = {
    "integers.python_int_argument_is_64_bits_wide": WEAK,
    "integers.thread_id_widens_a_narrower_integer": WEAK,
    "shared_barriers.several_shared_arrays_of_several_types": WEAK,
    "integers.bit_intrinsics_int32": NARROW,
    "integers.bit_intrinsics_int64": NARROW,
    "integers.bit_intrinsics_uint64": NARROW,
    "integers.brev_uint64": NARROW,
    "floats.fma_float32": "not fused there",
    "floats.fma_float64": "not fused there",
    "casts.store_converts": FLAGS,
    "casts.float_to_integer_saturates": FLAGS,
    "casts.int_of_float32": FLAGS,
    "casts.negative_float_to_unsigned_is_zero": FLAGS,
    "arrays.strided_vectors": STRIDES,
    "arrays.reversed_vector": STRIDES,
    "arrays.strided_matrices": STRIDES,
    "arrays.broadcast_input": STRIDES,
    "tuples_records.strided_records": STRIDES,
    "names.hints_and_atomics": "it has no loads and stores with hints",
    "shared_barriers.parts_of_dynamic_shared_memory": "dynamic shared memory has no size there",
    "views_enums.reshaped_with_a_step": STRIDES,
    "views_enums.libdevice_by_name": "it has no libdevice",
    "tuples_records.whole_record_copied": "records are not assigned whole there",
    "arrays.attributes": "an element of a shape by a negative index is refused there",
    "math.sqrt_float32": DOMAIN,
    "math.sqrt_float64": DOMAIN,
    "math.exp_of_special_values": DOMAIN,
    "math.log_of_special_values": DOMAIN,
    "math.sin_of_special_values": DOMAIN,
    "math.ldexp": "the exponent must be a Python int there",
    "math.cbrt_float32": "NaN for negative numbers there",
    "math.cbrt_float64": "NaN for negative numbers there",
    "views_enums.accesses_with_cache_hints": "loads and stores with cache hints are not there",
    "shared_barriers.dynamic_shared_memory": "dynamic shared memory has no size there",
    "times_texts.tuples_by_index": "an element of a shape by a negative index is refused there",
    "times_texts.exceptions_of_functions_end_the_thread": "an exception ends the launch there",
    "times_texts.rows_one_after_the_other": GRID,
    "times_texts.barriers_of_blocks_and_of_the_grid": GRID,
    "views_enums.kinds_of_values": "arrays are no np.ndarray there",
}
LEFT_OUT = ("random.", "warp.")
"""Random numbers are compiled by numba even there, and `test_random` compares with them directly; the simulator has
no operations among the threads of a warp."""


SHARE = 1 if os.environ.get("WEFT_FUZZ") else 6


def install() -> ModuleType:
    """Put the simulator in the place of `weft.cuda`, before any case is imported."""
    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
    import numba.cuda as simulator

    import weft

    weft.cuda = simulator
    sys.modules["weft.cuda"] = simulator
    sys.modules["weft.cuda.random"] = importlib.import_module("numba.cuda.random")
    return simulator


def disagreements() -> list[str]:
    """Return what the simulator does otherwise than plain Python, and what it does not after all."""
    simulator = install()
    from conformance.runner import assert_same, expected
    from conformance.suite import every_case

    found = []
    for name, case in every_case().items():
        if name.startswith(LEFT_OUT) or zlib.crc32(name.encode()) % SHARE:
            continue
        args = case.args()
        grid, block = case.launch()
        try:
            simulator.jit(case.kernel)[grid, block, 0, case.dynamic_bytes](*args)
            assert_same(args, expected(case), case.ulp, "simulator")
        except Exception as error:
            if name not in DIFFERENT:
                found.append(f"{name}: {type(error).__name__}: {error}")
        else:
            if name in DIFFERENT:
                found.append(f"{name}: agrees, although listed as different")
    return found


if __name__ == "__main__":
    problems = disagreements()
    print("\n".join(problems))
    sys.exit(bool(problems))
