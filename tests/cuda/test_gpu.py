"""``target="gpu"`` with a driver that stands in for a GPU: what is launched, with which parameters, what comes back."""

import ctypes
import pickle
import subprocess
import sys

import numpy as np
import pytest

from weft import cuda
from weft.cuda.gpu.arguments import gpu_typeof, on_gpu
from weft.cuda.gpu.kernel import GpuKernel
from weft.cuda.terms import launch_terms
from weft.cuda.to_ptx import ptx_of
from weft.diag.errors import ArgumentError, GpuError, LaunchError, SignatureError


class FakeDriver:
    """Keeps what it is asked; memory is the host's. A launch runs `body` with the parameters' bytes, eight each."""

    def __init__(self, body=lambda slots: None):
        self.body, self.memory, self.loaded, self.launches, self.waits = body, {}, [], [], 0

    def architecture(self):
        return "sm_90"

    def load(self, ptx, entry):
        assert f".entry {entry}(" in ptx
        self.loaded.append(entry)
        return entry

    def launch(self, kernel, grid, block, shared, stream, parameters):
        self.launches.append((kernel, grid, block, shared))
        count = self.count
        addresses = (ctypes.c_void_p * count).from_address(parameters)
        self.body([ctypes.string_at(a, 8) for a in addresses])

    def allocate(self, size):
        made = ctypes.create_string_buffer(max(1, size))
        self.memory[ctypes.addressof(made)] = made
        return ctypes.addressof(made)

    def free(self, address):
        del self.memory[address]

    def copy_in(self, to, host, size):
        ctypes.memmove(to, host, size)

    def copy_out(self, host, source, size):
        ctypes.memmove(host, source, size)

    def synchronize(self, stream):
        self.waits += 1


class OnGpu:
    """What another package's array shows of itself."""

    def __init__(self, array):
        self.array = array
        self.__cuda_array_interface__ = {**array.__array_interface__, "version": 3}


def words(slots):
    return [int.from_bytes(slot, "little") for slot in slots]


def scale(x, a, flag, pair):
    i = cuda.grid(1)
    if flag and i < x.shape[0]:
        x[i, 0] *= a * pair[0] * pair[1][0]


def test_parameters_are_packed_as_the_layout_says():
    seen = []
    driver = FakeDriver(seen.extend)
    x, w = np.arange(12.0, dtype=np.float32).reshape(6, 2)[::2], np.ones(3, np.float64)
    kernel = GpuKernel(scale, driver=driver)
    arguments = (x, np.float32(2), True, (7, w))
    sizes = [each.size for each in ptx_of(scale, tuple(map(gpu_typeof, arguments)), "sm_90").parameters]
    driver.count = len(sizes)
    kernel[(3, 2), 64, 0, 128](*arguments)
    values = words(seen)
    # A pointer, two extents and two strides; a number; a byte; a number; a pointer and an extent.
    assert values[1:5] == [3, 2, 8, 4] and values[6:8] == [1, 7] and values[9] == 3
    assert np.frombuffer(seen[5][:4], np.float32)[0] == 2
    assert len(values) == len(sizes)
    assert driver.launches == [("scale", (3, 2, 1), (64, 1, 1), 128)]
    assert not driver.memory and driver.waits == 1


def test_arrays_of_the_host_are_copied_there_and_back():
    x = np.arange(6, dtype=np.int32)[::2]
    constant = np.ones(2, np.int32)
    constant.flags.writeable = False

    def add(slots):
        address, extent = words(slots)[:2]
        there = np.ctypeslib.as_array((ctypes.c_int32 * extent).from_address(address))
        there += 10

    def kernel(x, c):
        x[0] = c[0]

    driver = FakeDriver(add)
    driver.count = 5
    made = GpuKernel(kernel, driver=driver)
    made[1, 1](x, constant)
    made[1, 1](x, constant)
    assert x.tolist() == [20, 22, 24] and x.base.tolist() == [20, 1, 22, 3, 24, 5]
    assert driver.loaded == ["kernel"]


def test_arrays_on_the_gpu_stay_where_they_are():
    x = np.zeros((2, 3), np.float64)
    seen = []
    driver = FakeDriver(seen.extend)
    driver.count = 3

    def kernel(x):
        x[0, 0] = 1

    GpuKernel(kernel, driver=driver)[1, 1](OnGpu(x))
    assert words(seen) == [x.ctypes.data, 2, 3]
    assert str(gpu_typeof(OnGpu(x.T))) == "float64[:, :]"


class OfDlpack:
    """An array that says by DLPack that it is on a GPU."""

    def __init__(self, array, device=2):
        self.array, self.device = array, device

    def __dlpack_device__(self):
        return self.device, 0

    def __dlpack__(self):
        return self.array.__dlpack__()


def test_arrays_by_dlpack():
    x = np.zeros((4, 6), np.float32)[:, 1::2]
    found = on_gpu(OfDlpack(x))
    assert (found.address, found.dtype, found.shape, found.strides) == (
        x.ctypes.data,
        x.dtype,
        x.shape,
        x.strides,
    )
    assert on_gpu(OfDlpack(x, device=1)) is None


def test_wrong_arguments_are_refused():
    def kernel(x):
        x[0] = 1

    made = GpuKernel(kernel, None, ["void(float32[::1])"], driver=FakeDriver())
    with pytest.raises(ArgumentError, match="takes 1 arguments"):
        made[1, 1]()
    with pytest.raises(ArgumentError, match="declared for other types"):
        made[1, 1](np.zeros(3))
    with pytest.raises(ArgumentError, match="cannot take a list"):
        GpuKernel(kernel, driver=FakeDriver())[1, 1]([1])
    with pytest.raises(SignatureError, match="target='tpu'"):
        cuda.jit(target="tpu")


def test_without_a_driver_the_error_says_so(monkeypatch):
    monkeypatch.setattr("weft.cuda.gpu.driver._known", [])
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", None)

    @cuda.jit(target="gpu", max_registers=40)
    def kernel(x):
        x[0] = 1

    with pytest.raises(GpuError, match="cuda-bindings is not installed"):
        kernel[1, 1](np.zeros(1))
    with pytest.raises(GpuError, match="compiled when it is launched"):
        kernel.inspect_asm("void(int32[::1])")
    assert ".maxnreg 40" in kernel.inspect_ptx("void(int32[::1])")


def test_kernels_can_be_pickled():
    def kernel(x):
        x[0] = 1

    made = cuda.jit("void(int32[::1])", target="gpu", max_registers=40)(kernel)
    again = pickle.loads(pickle.dumps(made))
    assert type(again) is GpuKernel and again.signatures == made.signatures
    assert ".maxnreg 40" in again.inspect_ptx("void(int32[::1])")


def test_nothing_of_cuda_is_imported_before_a_launch():
    program = (
        "import sys\nfrom weft import cuda\n@cuda.jit(target='gpu')\ndef k(x):\n    x[0] = 1\n"
        "k.inspect_ptx\nprint([m for m in sys.modules if m == 'cuda' or m.startswith('cuda.')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_bounds_and_extensions_hold_on_a_gpu_too():
    class Unbox:
        def prepare_args(self, type_, value, stream, retr):
            retr.append(lambda: ended.append(type_))
            return type_, value[0] if isinstance(value, list) else value

    ended = []
    seen = []
    driver = FakeDriver(seen.extend)
    driver.count = 2

    def kernel(x):
        x[0] = 1

    terms = launch_terms([Unbox()], 32, None, None)
    bounded = GpuKernel(kernel, driver=driver, terms=terms)
    bounded[1, 32]([np.zeros(3)])
    assert ended == [None] and seen
    with pytest.raises(LaunchError, match="at most 32 threads"):
        bounded[1, 64]
    assert cuda.jit(kernel, target="gpu", launch_bounds=8)._terms.max_threads == 8
