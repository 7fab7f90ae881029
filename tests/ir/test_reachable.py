"""What is left of a module is what the roots reach."""

from weft.ir.reachable import reachable_text
from weft.ir.reader import read_module
from weft.ir.writer import write_module

PROGRAM = """
@table = global ptr @in_a_table
@name = constant [4 x i8] c"@x\\22\\00"

declare i32 @outside(i32)

declare i32 @unused(i32)

define i32 @"odd name"(i32 %x) #0 {
  %y = call i32 @outside(i32 %x)
  ret i32 %y
}

define i32 @root(i32 %x) #0 {
  %y = call i32 @"odd name"(i32 %x)
  ret i32 %y
}

define i32 @other(i32 %x) {
  %y = call i32 @only_there(i32 %x)
  ret i32 %y
}

define i32 @only_there(i32 %x) {
  ret i32 %x
}

define void @in_a_table() {
  ret void
}

attributes #0 = { nounwind }
"""


def test_what_nobody_reaches_is_gone_and_the_rest_reads_back_the_same() -> None:
    text = write_module(read_module(PROGRAM))
    part = read_module(reachable_text(text, ["root"]))
    assert set(part.functions) == {"root", "odd name", "outside", "in_a_table"}
    assert set(part.globals) == {"table", "name"}
    for name in ("root", "odd name", "in_a_table"):
        assert write_module(part).count(f"define {header(text, name)}") == 1
    assert reachable_text(write_module(part), ["root", "nowhere"]) == write_module(part)


def test_a_name_in_quotes_is_found_as_a_root() -> None:
    text = write_module(read_module(PROGRAM))
    assert set(read_module(reachable_text(text, ["odd name"])).functions) == {
        "odd name",
        "outside",
        "in_a_table",
    }


def header(text: str, name: str) -> str:
    """The definition of a function, to its last line."""
    begin = text.index(f'@"{name}"(' if " " in name else f"@{name}(")
    begin = text.rindex("define ", 0, begin) + len("define ")
    return text[begin : text.index("\n}", begin)]
