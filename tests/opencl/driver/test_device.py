"""What the device says of itself is what OpenCL 3.0 demands of a full profile."""

from collections.abc import Callable


def test_the_device_is_one_of_the_full_profile(host: Callable[..., str]) -> None:
    host("""
assert device.type == cl.device_type.CPU
assert device.version.startswith("OpenCL 3.0 ") and device.opencl_c_version.startswith("OpenCL C 1.2 ")
least = {
    "max_work_item_dimensions": 3, "max_parameter_size": 1024, "max_mem_alloc_size": device.global_mem_size // 4,
    "max_constant_buffer_size": 65536, "max_constant_args": 8, "local_mem_size": 32768,
    "image2d_max_width": 16384, "image2d_max_height": 16384, "image3d_max_depth": 2048, "image_max_buffer_size": 65536,
    "image_max_array_size": 2048, "max_read_image_args": 128, "max_write_image_args": 64, "max_samplers": 16,
    "max_global_variable_size": 65536, "min_data_type_align_size": 128, "max_clock_frequency": 0,
}
assert "cl_khr_image2d_from_buffer" in device.extensions.split()
assert all(getattr(device, name) >= value for name, value in least.items())
for kind in ("char", "short", "int", "long", "half", "float", "double"):
    assert getattr(device, "native_vector_width_" + kind) >= getattr(device, "preferred_vector_width_" + kind) >= 1
# An extension that promises sub-groups which run independently is told of exactly where they do.
promised = "cl_khr_subgroups" in device.extensions.split()
assert promised == bool(device.get_info(0x105D))
""")
