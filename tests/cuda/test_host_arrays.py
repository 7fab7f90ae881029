"""Arrays of the host API beyond copies: views, the CUDA array interface, transfers, extensions, reductions."""

import ctypes

import numpy as np
import pytest

import weft
from cuda.kernels import ones, scale
from weft import cuda

kernel = cuda.jit(scale)


class Foreign:
    """An array of another library."""

    def __init__(self, device):
        self.device = device
        self.__cuda_array_interface__ = device.__cuda_array_interface__


def test_the_interface_describes_the_memory():
    device = cuda.to_device(np.arange(6, dtype=np.int16).reshape(2, 3), stream=cuda.external_stream(77))
    described = device.__cuda_array_interface__
    assert (described["shape"], described["strides"], described["typestr"]) == ((2, 3), None, "<i2")
    assert described["data"] == (device.array.ctypes.data, False) and described["stream"] == 77
    assert device.T.__cuda_array_interface__["strides"] == (2, 6)
    assert cuda.device_array(0).__cuda_array_interface__["data"][0] == 0
    assert cuda.mapped_array(3).__cuda_array_interface__["stream"] is None


def test_arrays_of_others_are_arguments():
    device = cuda.to_device(ones())
    kernel[1, 8](2.0, Foreign(device))
    kernel[1, 4](3.0, Foreign(device[::-2]))
    assert device.copy_to_host().tolist() == [2, 6] * 4
    shared = cuda.as_cuda_array(Foreign(device))
    assert shared.device_ctypes_pointer.value == device.device_ctypes_pointer.value
    assert isinstance(shared.device_ctypes_pointer, ctypes.c_void_p)
    assert cuda.is_cuda_array(Foreign(device)) and not cuda.is_cuda_array(ones())


def test_an_array_keeps_what_it_was_made_of():
    shared = cuda.as_cuda_array(Foreign(cuda.to_device(np.full(1 << 20, 7.0))))
    np.zeros(1 << 20)
    assert (shared.copy_to_host() == 7).all()


def test_structures_keep_their_fields():
    dtype = np.dtype([("a", np.int32), ("b", np.float64)], align=True)
    device = cuda.to_device(np.zeros(3, dtype))
    assert cuda.as_cuda_array(Foreign(device)).dtype.names == ("a", "b")


def test_views_know_their_shape():
    device = cuda.to_device(np.arange(24).reshape(2, 3, 4), stream=cuda.stream())
    assert device.transpose((2, 0, 1)).shape == (4, 2, 3) and np.transpose(device).shape == (4, 3, 2)
    assert device[:, :1].squeeze().shape == (2, 4)
    assert device.reshape(6, 4, order="C").shape == (6, 4)
    assert device[:, :, 0].alloc_size == 21 * 8 and device.nbytes == device.alloc_size
    assert device.flags["C_CONTIGUOUS"] and device.T.is_f_contiguous() and not device.is_f_contiguous()
    assert device.T.stream is device.stream and device.bind(0).stream == 0
    parts = list(cuda.to_device(np.arange(10)).split(4))
    assert [part.copy_to_host().tolist() for part in parts] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


@pytest.mark.parametrize("like", [cuda.device_array_like, cuda.mapped_array_like, cuda.pinned_array_like])
def test_arrays_are_made_alike(like):
    for array in (np.zeros((3, 4), order="F"), cuda.device_array((3, 4), np.int8)):
        made = like(array)
        assert (made.shape, made.strides, made.dtype) == (array.shape, array.strides, array.dtype)


def test_strides_may_be_asked_for():
    device = cuda.device_array((3, 2), np.float32, strides=(16, 4))
    device[:] = 1
    kernel[1, 6](2.0, device[:, 0])
    assert device.strides == (16, 4) and device.copy_to_host().tolist() == [[2, 1]] * 3


def test_what_is_given_in_is_not_written():
    x, y, z = ones(), ones(), ones()
    kernel[1, 8](2.0, cuda.In(x))
    kernel[1, 8](2.0, cuda.InOut(y))
    kernel[1, 8](2.0, cuda.Out(z))
    assert (x == 1).all() and (y == 2).all() and (z == 2).all()


def test_extensions_change_arguments_and_are_told_of_the_end():
    class Boxed:
        def __init__(self, array):
            self.array = array

    class Unbox:
        def prepare_args(self, type_, value, stream, retr):
            seen.append(type_)
            if isinstance(value, Boxed):
                retr.append(lambda: seen.append("done"))
                return type_, value.array
            return type_, value

    seen = []
    boxed = Boxed(ones())
    cuda.jit(scale, extensions=[Unbox()])[1, 8](2.0, boxed)
    assert (boxed.array == 2).all() and seen == [weft.types.pyfloat, None, "done"]


@pytest.mark.parametrize("n", [0, 1, 2, 3, 17, 1024, 2047, 2048, 5000])
def test_reductions_fold_all_elements(n):
    x = np.arange(n, dtype=np.float64) + 1
    total = cuda.Reduce(lambda a, b: a + b)
    assert total(x) == x.sum() and total(cuda.to_device(x), init=3) == x.sum() + 3
    assert total(x, size=n // 2) == x[: n // 2].sum()
    assert cuda.reduce(lambda a, b: max(a, b))(-x, init=-9.0) == max(-9.0, *-x, -9.0)


def test_a_reduction_is_stored_where_that_is_asked_for():
    result = cuda.to_device(np.zeros(2, np.int32))
    assert cuda.Reduce(lambda a, b: a * b)(np.arange(1, 6, dtype=np.int32), res=result, init=1) is None
    assert result[0] == 120


def test_bounds_of_launches_are_kept():
    bounded = cuda.jit(scale, launch_bounds=(64, 2), shared_memory_carveout="MaxL1", link=["x.o"])
    bounded[1, 64](2.0, ones(64))
    said = [remark.message.partition(":")[0].split()[0] for remark in bounded.remarks[:3]]
    assert said == ["launch_bounds", "shared_memory_carveout", "link"]


def test_devices_are_one(capsys):
    assert len(cuda.gpus) == 1 and [d.id for d in cuda.list_devices()] == [0]
    with cuda.gpus[0] as device:
        assert cuda.current_context().device is device and cuda.gpus.current is device
    free, total = cuda.current_context().get_memory_info()
    assert 0 < free <= total and weft.get_num_threads() == device.MULTIPROCESSOR_COUNT
    assert cuda.detect() and "Found 1 CUDA devices" in capsys.readouterr().out
    assert cuda.require_context(max)(1, 2) == 2 and cuda.is_supported_version() and cuda.cuda_error() is None


def test_streams_have_handles():
    streams = [cuda.default_stream(), cuda.legacy_default_stream(), cuda.per_thread_default_stream()]
    assert [int(s) for s in streams] == [0, 1, 2] and int(cuda.external_stream(5).handle) == 5
    assert cuda.stream().handle != cuda.stream().handle
    called = []
    cuda.stream().add_callback(lambda stream, status, arg: called.append((status, arg)), 3)
    assert called == [(0, 3)]
