"""What hosts of the tests share: the library, a program's registration as nvcc writes it, and launches."""

import ctypes
import os
import struct
from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_uint, c_ulonglong, c_void_p  # noqa: F401

import numpy as np

library = ctypes.CDLL(os.environ["WEFT_TEST_CUDART"])
library.__cudaRegisterFatBinary.restype = c_void_p
library.cudaGetErrorName.restype = c_char_p
HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, DEFAULT = 1, 2, 3, 4
_kept = []


class Dim3(ctypes.Structure):
    _fields_ = [("x", c_uint), ("y", c_uint), ("z", c_uint)]


class Wrapper(ctypes.Structure):
    _fields_ = [("magic", c_int), ("version", c_int), ("data", c_char_p), ("prelinked", c_void_p)]


def entry(data, architecture=75, kind=1, flags=0, unpacked=0):
    numbers = (kind, 0x101, 64, len(data), len(data), 0, 5, 9, architecture, 0, flags, 0, unpacked)
    header = struct.pack("<HHIQIIHHIQQQQ", *numbers)
    return header + data


def fatbin(*entries):
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def register(ptx, kernels=(), variables=(), data=None):
    """Make a program known; what stands for its kernels and variables in the host."""
    if data is None:
        data = fatbin(entry(ptx.encode() + bytes(-len(ptx) % 8 or 8)))
    wrapper = Wrapper(0x466243B1, 1, data, None)
    handle = c_void_p(library.__cudaRegisterFatBinary(byref(wrapper)))
    _kept.extend((data, wrapper))
    symbols = []
    for name in kernels:
        symbols.append(ctypes.create_string_buffer(8))
        text = c_char_p(name.encode())
        _kept.append(text)
        library.__cudaRegisterFunction(handle, symbols[-1], text, text, -1, None, None, None, None, None)
    for name in variables:
        symbols.append(ctypes.create_string_buffer(8))
        text = c_char_p(name.encode())
        _kept.append(text)
        library.__cudaRegisterVar(handle, symbols[-1], text, text, 0, c_size_t(4), 0, 0)
    library.__cudaRegisterFatBinaryEnd(handle)
    return symbols


def launch(kernel, grid, block, *arguments, shared=0, stream=None, function=library.cudaLaunchKernel):
    slots = (c_void_p * max(len(arguments), 1))(*(ctypes.cast(byref(a), c_void_p) for a in arguments))
    grid, block = ((*n, 1, 1)[:3] if isinstance(n, tuple) else (n, 1, 1) for n in (grid, block))
    return function(kernel, Dim3(*grid), Dim3(*block), slots, c_size_t(shared), stream)


def malloc(size):
    pointer = c_void_p()
    assert library.cudaMalloc(byref(pointer), c_size_t(size)) == 0
    return pointer


def to_device(array):
    pointer = malloc(array.nbytes)
    assert (
        library.cudaMemcpy(pointer, c_void_p(array.ctypes.data), c_size_t(array.nbytes), HOST_TO_DEVICE) == 0
    )
    return pointer


def from_device(pointer, like):
    out = np.empty_like(like)
    assert library.cudaMemcpy(c_void_p(out.ctypes.data), pointer, c_size_t(out.nbytes), DEVICE_TO_HOST) == 0
    return out


def name(error):
    return library.cudaGetErrorName(error).decode()


HEAD = ".version 7.0\n.target sm_75\n.address_size 64\n"
SCALE = (
    HEAD
    + """
.global .align 4 .u32 count;
.const .align 4 .f32 factor = 0f40000000;
.visible .entry scale(.param .u64 x, .param .u32 n)
{
    .reg .pred %p; .reg .b32 %r<6>; .reg .f32 %f<3>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [x];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p, %r5, %r1;
    @%p bra DONE;
    mul.wide.u32 %rd2, %r5, 4;
    add.u64 %rd3, %rd1, %rd2;
    ld.global.f32 %f1, [%rd3];
    ld.const.f32 %f2, [factor];
    mul.f32 %f1, %f1, %f2;
    st.global.f32 [%rd3], %f1;
    red.global.add.u32 [count], 1;
DONE:
    ret;
}
"""
)
