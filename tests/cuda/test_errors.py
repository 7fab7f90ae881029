"""Mistakes in calls of the host API: a documented exception that points at the call and says what to do."""

import functools
import inspect
import pickle

import numpy as np
import pytest

from cuda.kernels import ones, scale
from weft import cuda, errors

kernel = cuda.jit(scale)
declared = cuda.jit("void(float32, float32[::1])")(scale)


@cuda.jit(device=True)
def helper(x):
    return x + 1


AWAY = {"shape": (4,), "typestr": "<f4", "data": (4096, False), "version": 3}


def max_of(a, b):
    return max(a, b)


MISTAKES = [
    (errors.LaunchError, "without a launch configuration", lambda: kernel(2.0, ones())),
    (errors.LaunchError, "number of blocks and of threads", lambda: kernel[8](2.0, ones())),
    (errors.LaunchError, "grid is 0", lambda: kernel[0, 8](2.0, ones())),
    (errors.LaunchError, "block is -1", lambda: kernel[1, -1](2.0, ones())),
    (errors.LaunchError, "grid is 1099511627776", lambda: kernel[2**40, 8](2.0, ones())),
    (errors.LaunchError, "2048 threads", lambda: kernel[1, (64, 32)](2.0, ones())),
    (errors.LaunchError, "not 4", lambda: kernel[(1, 1, 1, 1), 8](2.0, ones())),
    (errors.LaunchError, "not an integer", lambda: kernel[1.5, 8](2.0, ones())),
    (errors.LaunchError, "-5 bytes", lambda: kernel[1, 8, 0, -5](2.0, ones())),
    (errors.LaunchError, "number of tasks is -3", lambda: kernel.forall(-3)(2.0, ones())),
    (errors.LaunchError, "not an integer", lambda: kernel.forall("many")(2.0, ones())),
    (errors.LaunchError, "can be called from kernels only", lambda: helper(1)),
    (errors.ArgumentError, "takes 2 arguments .factor, x., and got 1", lambda: kernel[1, 8](2.0)),
    (errors.ArgumentError, "and got 3", lambda: kernel[1, 8](2.0, ones(), ones())),
    (errors.ArgumentError, "and got 3", lambda: kernel[1, 8](2.0, ones(), "text")),
    (errors.ArgumentError, "x by name", lambda: kernel[1, 8](2.0, x=ones())),
    (errors.ArgumentError, "'factor' of scale: .* type bytes", lambda: kernel[1, 8](b"2", ones())),
    (errors.ArgumentError, "'x' of scale: .* list", lambda: kernel[1, 8](2.0, [1.0])),
    (errors.ArgumentError, "'x' of scale: dtype >f4", lambda: kernel[1, 8](2.0, ones(dtype=">f4"))),
    (errors.ArgumentError, "'factor' of scale: .* does not fit", lambda: kernel[1, 8](2**70, ones())),
    (errors.ArgumentError, "no signature for", lambda: declared[1, 8](2.0, ones(dtype=np.int8))),
    (errors.SignatureError, "no option colour", lambda: cuda.jit(colour=True)),
    (errors.SignatureError, "cannot be read", lambda: kernel.compile("void(")),
    (errors.SignatureError, "takes 2 arguments", lambda: kernel.compile("void(float32[:])")),
    (errors.SignatureError, "no signature", lambda: cuda.jit(3)),
    (errors.SignatureError, "no signature", lambda: cuda.jit(len)),
    (errors.SignatureError, "no Python function", lambda: cuda.jit()(functools.partial(scale, 1))),
    (errors.SignatureError, "width of 65", lambda: cuda.jit(width=65)),
    (errors.SignatureError, "width of 12", lambda: cuda.jit(width=12)),
    (errors.SignatureError, "width of 'wide'", lambda: cuda.jit(width="wide")),
    (errors.LaunchError, "no device 1", lambda: cuda.select_device(1)),
    (errors.LaunchError, "not recorded", lambda: cuda.event().elapsed_time(cuda.event())),
    (errors.ArgumentError, "do not fit the shape", lambda: cuda.device_array(4, strides=(8, 8))),
    (errors.ArgumentError, "not this process's own", lambda: cuda.from_cuda_array_interface(AWAY)),
    (errors.ArgumentError, "no CUDA array interface", lambda: cuda.from_cuda_array_interface({})),
    (errors.UnsupportedError, "Masked", lambda: cuda.from_cuda_array_interface(AWAY | {"mask": 1})),
    (errors.ArgumentError, "2 dimensions is not split", lambda: list(cuda.device_array((2, 3)).split(2))),
    (errors.ArgumentError, "2 dimensions is not reduced", lambda: cuda.Reduce(max_of)(np.ones((2, 2)))),
    (errors.SignatureError, "no Python function", lambda: cuda.Reduce(max)),
    (errors.SettingError, "Got 4 launch bounds", lambda: cuda.jit(launch_bounds=(1, 2, 3, 4))),
    (errors.SettingError, "between -1 and 100", lambda: cuda.jit(shared_memory_carveout=101)),
    (errors.SettingError, "Invalid carveout", lambda: cuda.jit(shared_memory_carveout="most")),
    (errors.LaunchError, "at most 32 threads", lambda: cuda.jit(scale, launch_bounds=32)[1, 64]),
    (errors.ArgumentError, "cannot copy", lambda: cuda.to_device(ones(4)).copy_to_host(ones(5))),
]


@pytest.mark.parametrize(("error", "message", "call"), MISTAKES, ids=[message for _, message, _ in MISTAKES])
def test_the_call_is_pointed_at(error, message, call):
    with pytest.raises(error, match=message) as caught:
        call()
    raised = caught.value
    assert type(raised) is error
    assert raised.hint
    assert raised.span is not None
    if raised.span.file != "<signature>":
        assert raised.span.file == __file__
        assert raised.span.line == inspect.getsourcelines(call)[1]
    caret = str(raised).splitlines()[2]
    assert "^" in caret


def test_the_caret_is_under_the_launch():
    with pytest.raises(errors.LaunchError) as caught:
        kernel[0, 8](2.0, ones())
    _, line, caret, _ = str(caught.value).splitlines()
    assert line[caret.index("^") :] == "kernel[0, 8](2.0, ones())"
    assert caret.strip(" |") == "^" + "~" * (len("kernel[0, 8]") - 1)


def test_errors_pickle_with_their_position():
    with pytest.raises(errors.LaunchError) as caught:
        kernel[0, 8](2.0, ones())
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert again.span == caught.value.span


def test_nothing_is_written_before_the_check():
    x = ones()
    for call in (
        lambda: kernel[1, 8](2**70, x),
        lambda: kernel[1, 2000](2.0, x),
        lambda: kernel[1, 8](2.0, x, x),
    ):
        with pytest.raises(errors.WeftError):
            call()
    assert (x == 1).all()


def test_findings_of_the_sanitizer_survive_pickling():
    def shift(x):
        i = cuda.grid(1)
        x[i] = x[i + 1]

    with pytest.raises(errors.SanitizerError) as caught:
        cuda.jit(debug=True)(shift)[1, 8](ones())
    again = pickle.loads(pickle.dumps(caught.value))
    assert [str(f) for f in again.findings] == [str(f) for f in caught.value.findings] != []
