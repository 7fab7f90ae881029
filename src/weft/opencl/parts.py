"""Parts of programs, compiled apart and linked (OpenCL API 3.0, §5.8.5: ``clCompileProgram``, ``clLinkProgram``)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from weft.diag.errors import CompileError
from weft.frontend.opencl.clang import compile_source, note_source
from weft.frontend.opencl.options import BuildOptions, parse_options
from weft.opencl.source import ProgramSource, finish
from weft.target.linking import LinkError, link_texts


class Part(Struct, frozen=True):
    """A part of a program, or a library of parts.

    Parameters
    ----------
    text
        What clang has made of it: LLVM IR, in which builtins are declared.
    log
        clang's diagnostics.
    file
        What messages call the source.
    options
        How it was compiled.
    """

    text: str
    log: str
    file: str
    options: BuildOptions

    def to_bytes(self) -> bytes:
        """All of it, for `from_bytes`."""
        facts = {"log": self.log, "file": self.file, "options": self.options.text}
        return json.dumps(facts).encode() + b"\n" + self.text.encode()

    @staticmethod
    def from_bytes(data: bytes) -> Part:
        """What `to_bytes` has written.

        Raises
        ------
        ValueError, KeyError, TypeError
            The bytes are something else.
        """
        head, _, text = data.partition(b"\n")
        facts = json.loads(head)
        return Part(text.decode(), facts["log"], facts["file"], parse_options(facts["options"]))


def compile_part(source: str, options: str, headers: Mapping[str, str]) -> Part:
    """Compile a part of a program, which may declare what others define.

    Parameters
    ----------
    source, options
        The part, and build options.
    headers
        Texts that ``#include`` finds under these names.

    Raises
    ------
    BuildError
        clang refuses it.
    SettingError
        An option is unknown.
    """
    parsed = parse_options(options)
    file = f"<opencl {hashlib.sha256(source.encode(errors='surrogateescape')).hexdigest()[:8]}>"
    note_source(file, source)
    output = compile_source(source, parsed, file, headers)
    return Part(output.text, output.log, file, parsed)


def link_parts(parts: Sequence[Part], options: str) -> ProgramSource | Part:
    """Make a program of parts, or a library with ``-create-library``.

    The program is compiled under the options of its first part, and the mathematics of `options` beside them.

    Raises
    ------
    CompileError
        Two parts define the same, or one declares what none defines.
    SettingError
        An option is unknown.
    """
    parsed = parse_options(options)
    log = "".join(part.log for part in parts)
    try:
        text = link_texts([part.text for part in parts])
    except LinkError as error:
        raise CompileError(f"the parts do not fit together: {error}") from None
    first = parts[0]
    if "-create-library" in parsed.linking:
        return Part(text, log, first.file, first.options)
    chosen = first.options
    if parsed.fastmath:
        chosen = replace(chosen, fastmath=parsed.fastmath)
    return finish(text, log, chosen, first.file)
