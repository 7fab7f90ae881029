"""The exceptions that weft raises; `weft.diag.errors` describes each."""

from weft.diag.errors import (
    ArgumentError,
    BarrierDivergence,
    CompileError,
    InterpError,
    IRSyntaxError,
    LaunchError,
    MiscompilationError,
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
    "BarrierDivergence",
    "CompileError",
    "IRSyntaxError",
    "InterpError",
    "LaunchError",
    "MiscompilationError",
    "SanitizerError",
    "SettingError",
    "SignatureError",
    "TypingError",
    "UnsupportedError",
    "VerifyError",
    "WeftError",
]
