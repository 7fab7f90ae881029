"""A loop over the active lanes of a mask, as a template of LLVM's text, for what is done lane by lane."""

from __future__ import annotations

_BEGIN = """\
  br i1 %any, label %lane, label %end
lane:
  %left = phi i{n} [ %set, %BEFORE ], [ %rest, %lane ]
  %number = call i{n} @llvm.cttz.i{n}(i{n} %left, i1 true)
  %k = {to_index} i{n} %number to i64
"""
_END = """\
  %less = sub i{n} %left, 1
  %rest = and i{n} %left, %less
  %more = icmp ne i{n} %rest, 0
  br i1 %more, label %lane, label %end
end:
"""

ACTIVE = """\
  %set = bitcast <{n} x i1> %mask to i{n}
  %any = icmp ne i{n} %set, 0
"""
"""The active lanes of ``%mask`` as bits, and whether there are any."""


def lane_loop(body: str, before: str = "entry") -> str:
    """The loop behind the block `before`, in which `ACTIVE` stands; ``{n}`` are the lanes, ``%k`` is the lane at hand.

    ``{to_index}`` is how a number of as many bits becomes one of 64.
    """
    return _BEGIN.replace("BEFORE", before) + body + _END
