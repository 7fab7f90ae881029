"""LLVM's text is taken apart where lines begin with a definition, and nowhere else."""

import re

import pytest

from weft.target.definitions import parts_by_definition


@pytest.mark.parametrize(
    "text",
    [
        "",
        "declare void @f()\n",
        "define void @f() {\n  ret void\n}\n",
        "\ndefine void @f() {\n}\n\ndefine void @g() {\n}\n; define no more\n  define\n",
        '@s = constant [8 x i8] c"define  "\n\n\ndefine i1 @g() {\n}\ndefine i1 @h() {\n}',
    ],
)
def test_parts_are_those_between_definitions(text: str) -> None:
    parts = parts_by_definition(text)
    assert parts == re.split(r"(?m)^(?=define )", text)
    assert "".join(parts) == text
