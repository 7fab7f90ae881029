"""Kernels as Python objects: compiling, launching, inspecting."""

import pickle
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from cuda.kernels import number_threads, ones, scale
from weft import cuda, errors
from weft.options import Timings
from weft.types import float32, float64, pyfloat, pyint, void


def test_one_compilation_for_each_signature():
    kernel = cuda.jit(scale)
    for factor, dtype in ((2.0, np.float32), (3.0, np.float32), (2.0, np.float64), (2, np.float64)):
        kernel[1, 8](factor, ones(dtype=dtype))
    assert kernel.signatures == [
        (pyfloat, float32[::1]),
        (pyfloat, float64[::1]),
        (pyint, float64[::1]),
    ]


@pytest.mark.parametrize(
    "signature",
    [
        "void(float32, float32[::1])",
        "(float32, float32[::1])",
        (float32, float32[::1]),
        void(float32, float32[::1]),
        [void(float64, float64[::1]), "void(float32, float32[::1])"],
    ],
    ids=str,
)
def test_declared_signatures_are_compiled_at_once(signature):
    kernel = cuda.jit(signature)(scale)
    assert kernel.signatures[-1] == (float32, float32[::1])
    x = ones()
    kernel[1, 8](3, x)
    assert (x == 3).all()


def test_declared_signatures_take_no_others():
    kernel = cuda.jit("void(float32, float32[::1])")(scale)
    with pytest.raises(errors.ArgumentError, match="no signature for"):
        kernel[1, 8](3.0, ones(dtype=np.int16))
    assert len(kernel.signatures) == 1


def test_compile_returns_the_same_code_for_the_same_signature():
    kernel = cuda.jit(scale)
    first = kernel.compile("void(float32, float32[::1])")
    assert kernel.compile((float32, float32[::1])) is first
    assert kernel.specialize(np.float32(1), ones()) is first


def test_inspection_shows_the_code_of_one_signature_or_of_all():
    kernel = cuda.jit(scale)
    kernel.compile("void(float32, float32[::1])")
    kernel.compile("void(float64, float64[::1])")
    llvm, assembly = kernel.inspect_llvm(), kernel.inspect_asm()
    assert llvm.keys() == assembly.keys() == set(kernel.signatures)
    assert kernel.inspect_llvm((float32, float32[::1])) == llvm[float32, float32[::1]]
    for text in llvm.values():
        assert "define" in text and "fmul" in text
    for text in assembly.values():
        assert "mul" in text


def test_inspection_works_on_a_kernel_from_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("WEFT_CHECK", raising=False)
    signature = "void(float32, float32[::1])"
    text = cuda.jit(scale).inspect_llvm(signature)
    again = cuda.jit(scale)
    assert again.compile(signature).from_cache
    assert again.inspect_llvm(signature) == text


@pytest.mark.parametrize("n", [1, 255, 256, 257, 1000])
@pytest.mark.parametrize("tpb", [0, 32])
def test_forall_covers_all_tasks(n, tpb):
    out = np.full(n + 1, -1, np.int64)
    cuda.jit(number_threads).forall(n, tpb=tpb)(out[:n])
    assert out[:n].tolist() == list(range(n))
    assert out[n] == -1


def test_forall_of_no_tasks_runs_nothing():
    out = np.full(4, -1, np.int64)
    cuda.jit(number_threads).forall(0)(out)
    assert (out == -1).all()


def test_streams_and_numpy_integers_are_accepted_in_a_configuration():
    x = ones()
    cuda.jit(scale)[np.int64(2), np.uint8(4), cuda.stream(), 0](2.0, x)
    assert (x == 2).all()


def test_a_configured_kernel_is_kept():
    kernel = cuda.jit(scale)
    assert kernel[2, 4] is kernel[2, 4]
    assert kernel[2, 4] is not kernel[4, 2]


def test_a_kernel_looks_like_its_function():
    kernel = cuda.jit(scale)
    assert kernel.__doc__ == "Multiply each element."
    assert kernel.__name__ == "scale"
    assert "scale" in repr(kernel)
    assert kernel.py_func is scale


def test_options_of_numba_are_accepted():
    kernel = cuda.jit(opt=True, lineinfo=True, max_registers=32, fastmath=True)(scale)
    x = ones()
    kernel[1, 8](2.0, x)
    assert (x == 2).all()


def test_timings_are_of_the_latest_compilation(monkeypatch):
    monkeypatch.setenv("WEFT_CACHE", "0")
    kernel = cuda.jit(scale)
    assert kernel.timings == {"frontend": 0.0, "passes": 0.0, "llvm": 0.0}
    kernel[1, 8](2.0, ones())
    assert all(seconds > 0 for seconds in kernel.timings.values())


def test_a_part_of_a_compilation_within_another_counts_for_itself_only(monkeypatch):
    clock = iter([0.0, 1.0, 3.0, 7.0])
    monkeypatch.setattr("weft.options.time", SimpleNamespace(perf_counter=lambda: next(clock)))
    timings = Timings(frontend=8.0)
    with timings.measure("passes"), timings.measure("llvm"):
        pass
    assert timings.as_dict() == {"frontend": 8.0, "passes": 5.0, "llvm": 2.0}


def test_launches_from_several_threads_at_once():
    kernel = cuda.jit(scale)
    arrays = [ones(1000) for _ in range(4)]
    workers = [
        threading.Thread(target=lambda x=x: [kernel[4, 256](2.0, x) for _ in range(20)]) for x in arrays
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for x in arrays:
        assert (x == 2.0**20).all()


@cuda.jit
def decorated(x):
    x[0] = 1


def test_a_kernel_that_its_name_leads_to_pickles_by_name():
    decorated[1, 1](ones())
    assert pickle.loads(pickle.dumps(decorated)) is decorated


@pytest.mark.parametrize("signatures", [None, "void(float32, float32[::1])"])
def test_other_kernels_pickle_with_their_function(signatures):
    kernel = cuda.jit(signatures, fastmath=True)(scale)
    kernel[1, 8](2.0, ones())
    again = pickle.loads(pickle.dumps(kernel))
    assert again.py_func is scale
    assert again.signatures == (kernel.signatures if signatures else [])
    x = ones()
    again[1, 8](2.0, x)
    assert (x == 2).all()
