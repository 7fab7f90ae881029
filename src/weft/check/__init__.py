"""``WEFT_CHECK=1``: every pass's program is run on the interpreter and compared with the one before it.

`CheckedLauncher` stands in for a kernel's launcher. Before a launch it runs the kernel's program after each pass
of the pipeline on copies of the arguments, then the machine code on the arguments themselves, and raises
`weft.errors.MiscompilationError`, which names the pass, where memory differs. Comparison is bit for bit, NaN
payloads apart; what was poison before a pass may be anything after it.

A launch goes unchecked, with a line in the log ``weft.check`` that says why, when its result depends on the order
of threads (atomics whose result is used, data races), under fastmath, when the program itself has no defined
result, and when it is too long for the interpreter.

`weft.check.entry.CheckedEntry` does the same for functions of ``weft.jit`` and its like, `weft.check.foreign` for those
of C and LLVM IR.
"""

from weft.check.launcher import CheckedLauncher

__all__ = ["CheckedLauncher"]
