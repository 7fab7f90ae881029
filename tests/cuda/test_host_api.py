"""The host side of numba.cuda on host memory: what is copied, and what shares memory."""

import numpy as np
import pytest

import weft
from cuda.kernels import number_threads, ones, scale
from weft import cuda

kernel = cuda.jit(scale)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_device_array_is_a_copy(order):
    x = np.ones((4, 2), np.float32, order=order)
    x.flags.writeable = False
    device = cuda.to_device(x)
    kernel[1, 8](2.0, device.ravel("K"))
    assert (x == 1).all() and (device.copy_to_host() == 2).all()
    assert device.strides == x.strides


def test_a_device_array_of_a_device_array_is_itself():
    device = cuda.to_device(ones())
    assert cuda.to_device(device) is device


@pytest.mark.parametrize("shared", [lambda x: cuda.to_device(x, copy=False), cuda.as_cuda_array])
def test_memory_is_shared_where_that_is_asked_for(shared):
    x = ones()
    device = shared(x)
    kernel[1, 8](2.0, device)
    assert (x == 2).all()
    x[0] = 7
    assert device[0] == 7


def test_mapped_arrays_share_memory_and_pinned_ones_are_themselves():
    x, y = ones(), ones()
    with cuda.pinned(x, y), cuda.mapped(x) as one, cuda.mapped(x, y) as (first, second):
        kernel[1, 8](2.0, one)
        kernel[1, 8](2.0, first)
        kernel[1, 8](3.0, second)
    assert (x == 4).all() and (y == 3).all()


def test_numpy_gets_a_copy():
    device = cuda.to_device(ones())
    host = np.asarray(device)
    host[:] = 5
    assert (device.copy_to_host() == 1).all()


def test_views_of_device_arrays_share_memory_or_are_refused():
    device = cuda.device_array((4, 2), np.float32)
    device[:] = 1
    kernel[1, 8](2.0, device.reshape(8))
    kernel[1, 8](2.0, device.ravel())
    assert (device.copy_to_host() == 4).all()
    for view in (device.T.ravel, lambda: device.T.reshape(8)):
        with pytest.raises(weft.errors.UnsupportedError, match="without a copy"):
            view()


def test_copies_to_the_host_are_copies():
    device = cuda.to_device(ones())
    host = device.copy_to_host()
    kernel[1, 8](2.0, device)
    assert (host == 1).all()
    target = np.zeros(8, np.float32)
    assert device.copy_to_host(target) is target
    assert (target == 2).all()


def test_copies_to_the_device_fill_it():
    device = cuda.device_array(8, np.float32)
    device.copy_to_device(ones())
    cuda.to_device(ones() * 3, to=device)
    kernel[1, 8](2.0, device)
    assert (device.copy_to_host() == 6).all()


@pytest.mark.parametrize("shape", [5, (5,), (2, 3), (2, 3, 4)])
@pytest.mark.parametrize(
    "make", [cuda.device_array, cuda.pinned_array, cuda.mapped_array, cuda.managed_array]
)
def test_new_arrays_have_shape_and_dtype(make, shape):
    array = make(shape, np.int16)
    assert array.shape == (shape if isinstance(shape, tuple) else (shape,))
    assert array.dtype == np.int16
    assert make(shape).dtype == np.float64
    like = cuda.device_array_like(array)
    assert like.shape == array.shape and like.dtype == array.dtype


def test_device_arrays_look_like_arrays():
    device = cuda.to_device(np.arange(12, dtype=np.int32).reshape(3, 4))
    assert (device.ndim, device.size, device.nbytes, len(device)) == (2, 12, 48, 3)
    assert device.strides == (16, 4) and device.is_c_contiguous()
    assert device.T.shape == (4, 3) and not device.T.is_c_contiguous()
    assert device.reshape(2, 6).shape == (2, 6)
    assert device.ravel().shape == (12,)
    assert device.view(np.int16).shape == (3, 8)
    assert np.asarray(device).sum() == 66
    device[1] = device[0]
    assert device[1, 3] == 3
    assert cuda.is_cuda_array(device[1:]) and not cuda.is_cuda_array(device.array)
    assert cuda.as_cuda_array(device).array is device.array


def test_slices_of_device_arrays_are_arguments():
    out = np.zeros(8, np.int64)
    cuda.jit(number_threads)[1, 8](cuda.as_cuda_array(out)[2:6])
    assert out.tolist() == [0, 0, 0, 1, 2, 3, 0, 0]


def test_events_tell_the_time_between_them():
    start, end = cuda.event(), cuda.event()
    start.record()
    kernel[1, 8](2.0, ones())
    end.record()
    end.synchronize()
    assert end.query()
    assert cuda.event_elapsed_time(start, end) == start.elapsed_time(end) >= 0


def test_streams_are_accepted_wherever_numba_takes_one():
    stream = cuda.stream()
    device = cuda.to_device(ones(), stream=stream)
    kernel[1, 8, stream](2.0, device)
    assert (device.copy_to_host(stream=stream) == 2).all()
    stream.synchronize()
    with stream.auto_synchronize():
        pass
    cuda.default_stream().synchronize()
    cuda.synchronize()


def test_the_device_is_the_cpu():
    assert cuda.is_available()
    device = cuda.get_current_device()
    assert device is cuda.select_device(0)
    assert device.MAX_THREADS_PER_BLOCK == 1024 and device.WARP_SIZE == 32
    assert device.name in repr(device)
    with cuda.defer_cleanup():
        cuda.close()
