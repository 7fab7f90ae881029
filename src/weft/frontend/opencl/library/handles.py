"""Images and samplers as what they are: an image is the address of its descriptor, a sampler its bits.

OpenCL C has no way to write that down, since their types are opaque. The library's sources declare functions that take
one for the other, and these are their definitions; `image_descriptor.h` says what is behind the addresses.
"""

from __future__ import annotations

from weft.frontend.opencl.library.definitions import Definition

_ATTRIBUTES = "alwaysinline nounwind willreturn memory(none)"
_SAMPLER = {
    # What clang calls for a sampler that the program itself has.
    "__translate_sampler_initializer": f"""\
define internal ptr addrspace(2) @__translate_sampler_initializer(i32 %bits) {_ATTRIBUTES} {{
  %wide = zext i32 %bits to i64
  %sampler = inttoptr i64 %wide to ptr addrspace(2)
  ret ptr addrspace(2) %sampler
}}
""",
    "__weft_sampler_bits": f"""\
define internal i32 @__weft_sampler_bits(ptr addrspace(2) %sampler) {_ATTRIBUTES} {{
  %wide = ptrtoint ptr addrspace(2) %sampler to i64
  %bits = trunc i64 %wide to i32
  ret i32 %bits
}}
""",
}
_DESCRIPTOR = "_Z13descriptor_of"


def handle_function(symbol: str) -> Definition | None:
    """Return the definition of a function between an opaque type and what it is; None for any other symbol."""
    if symbol in _SAMPLER:
        return Definition(_SAMPLER[symbol], ())
    if symbol.startswith(_DESCRIPTOR):
        space = "ptr addrspace(1)"
        text = (
            f"define internal {space} @{symbol}({space} %image) {_ATTRIBUTES} {{\n  ret {space} %image\n}}\n"
        )
        return Definition(text, ())
    return None
