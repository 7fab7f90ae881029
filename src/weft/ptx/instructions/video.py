"""Video instructions, of one, two and four parts."""

from __future__ import annotations

from weft.ptx.instructions.forms import forms

_T = "$INT32"
_DAB = f"D:{_T} A:{_T} B:{_T}"
_SECOND = "add|min|max"

FORMS = [
    *forms("vadd vsub vabsdiff vmin vmax", f"{_DAB} sat?", "=any any any", ptx=2.0, sm=20),
    *forms("vadd vsub vabsdiff vmin vmax", f"{_DAB} sat? {_SECOND}?", "=any any any any", ptx=2.0, sm=20),
    *forms("vshl vshr", f"D:{_T} A:{_T} u32 sat? clamp|wrap", "=any any any", ptx=2.0, sm=20),
    *forms("vshl vshr", f"D:{_T} A:{_T} u32 sat? clamp|wrap {_SECOND}?", "=any any any any", ptx=2.0, sm=20),
    *forms("vmad", f"{_DAB} sat? shr7|shr15?", "=any any any any", ptx=2.0, sm=20),
    *forms("vmad", f"{_DAB} po sat? shr7|shr15?", "=any any any any", ptx=2.0, sm=20),
    *forms("vset", f"A:{_T} B:{_T} eq|ne|lt|le|gt|ge", "=any any any", ptx=2.0, sm=20),
    *forms("vset", f"A:{_T} B:{_T} eq|ne|lt|le|gt|ge {_SECOND}?", "=any any any any", ptx=2.0, sm=20),
    *forms(
        "vadd2 vsub2 vavrg2 vabsdiff2 vmin2 vmax2", f"{_DAB} sat|add?", "=any any any any", ptx=3.0, sm=30
    ),
    *forms(
        "vadd4 vsub4 vavrg4 vabsdiff4 vmin4 vmax4", f"{_DAB} sat|add?", "=any any any any", ptx=3.0, sm=30
    ),
    *forms("vset2 vset4", f"A:{_T} B:{_T} eq|ne|lt|le|gt|ge add?", "=any any any any", ptx=3.0, sm=30),
]
