"""Control flow, calls, and what concerns the thread as a whole."""

from __future__ import annotations

from weft.ptx.instructions.forms import Effect, forms

FORMS = [
    *forms("bra", "uni?", "label", Effect.BRANCH),
    *forms("brx", "idx uni?", "u32 targets", Effect.BRANCH, ptx=6.0, sm=30),
    *forms("call", "uni?", "func", Effect.CALL),
    *forms("call", "uni?", "=group func group?", Effect.CALL),
    *forms("call", "uni?", "func group any?", Effect.CALL),
    *forms("call", "uni?", "=group func group any", Effect.CALL, ptx=2.1, sm=20),
    *forms("ret", "uni?", "", Effect.ENDS),
    *forms("exit", "", "", Effect.ENDS),
    *forms("trap", "", "", Effect.ENDS | Effect.OTHER),
    *forms("brkpt", "", "", Effect.OTHER),
    *forms("nanosleep", "T:u32", "T", Effect.OTHER, ptx=6.3, sm=70),
    *forms("pmevent", "mask?", "imm", Effect.OTHER, ptx=1.4),
    *forms(
        "setmaxnreg",
        "inc|dec sync aligned u32",
        "imm",
        Effect.OTHER | Effect.OPAQUE,
        ptx=8.0,
        families=(90, 100, 101, 103, 107, 110, 120, 121),
    ),
    *forms("griddepcontrol", "launch_dependents|wait", "", Effect.BARRIER | Effect.OPAQUE, ptx=7.8, sm=90),
]
