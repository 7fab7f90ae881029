"""The exceptions that weft raises; `weft.diag.errors` describes each."""

from weft.diag.errors import (
    ArgumentError,
    ArrayShapeError,
    BarrierDivergence,
    CompileError,
    InterpError,
    IRSyntaxError,
    LaunchError,
    MiscompilationError,
    OutOfMemoryError,
    SanitizerError,
    SettingError,
    SignatureError,
    TypingError,
    UnsupportedError,
    VerifyError,
    WeftError,
)

__all__ = [
    "ArgumentError",
    "ArrayShapeError",
    "BarrierDivergence",
    "CompileError",
    "IRSyntaxError",
    "InterpError",
    "LaunchError",
    "MiscompilationError",
    "OutOfMemoryError",
    "SanitizerError",
    "SettingError",
    "SignatureError",
    "TypingError",
    "UnsupportedError",
    "VerifyError",
    "WeftError",
]
