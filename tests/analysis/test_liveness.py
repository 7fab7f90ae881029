"""Liveness against paths: a value is live where some path leads on to a use without its definition."""

from hypothesis import given
from hypothesis import strategies as st

from random_cfgs import arbitrary_cfgs
from weft.analysis.liveness import liveness
from weft.graph.cfg import CFG
from weft.ir import BasicBlock, Builder, Function, Instruction, Module, Value
from weft.ir.reader import read_module
from weft.ir.types import I1, I32, VOID, FunctionType


@st.composite
def functions(draw: st.DrawFn) -> Function:
    """Any graph with values, φs, shadows and block predicates; definitions need not dominate uses."""
    cfg = draw(arbitrary_cfgs(max_blocks=5))
    cfg = CFG([(1,), *(tuple(t + 1 for t in targets) for targets in cfg.succs)])
    function = Function("f", FunctionType(VOID, (I32, I1)), ("x", "m"))
    Module("m").add_function(function)
    blocks = [function.add_block(f"b{i}") for i in range(len(cfg))]
    values: list[Value] = [function.args[0]]
    flags: list[Value] = [function.args[1]]
    pending: list[Instruction] = []
    for number, block in enumerate(blocks):
        builder = Builder(block)
        if cfg.preds[number] and draw(st.booleans()):
            phi = builder.phi(I32)
            pending.append(phi)
            values.append(phi)
        for _ in range(draw(st.integers(0, 2))):
            values.append(builder.binary("add", draw(st.sampled_from(values)), draw(st.sampled_from(values))))
        if draw(st.booleans()):
            flags.append(builder.icmp("eq", draw(st.sampled_from(values)), function.args[0]))
        targets = [blocks[t] for t in cfg.succs[number]]
        if not targets:
            builder.ret()
        elif len(targets) == 1:
            builder.br(targets[0])
        else:
            builder.switch(draw(st.sampled_from(values)), targets[0], list(enumerate(targets[1:])))
    for phi in pending:
        for source in phi.block.predecessors:
            for _ in range(list(source.successors).count(phi.block) or 1):
                phi.add_incoming(draw(st.sampled_from(values)), source)
        if draw(st.booleans()):
            elsewhere = [v for v in values if not (isinstance(v, Instruction) and v.block is phi.block)]
            phi.set_shadow(draw(st.sampled_from(elsewhere)))
    for block in blocks:
        if draw(st.booleans()):
            block.set_predicate(draw(st.sampled_from(flags)))
    return function


def is_live(value: Value, block: BasicBlock, point: int) -> bool:
    """Follow all paths from before instruction `point` of `block` until a use or the definition."""
    seen: set[BasicBlock] = set()
    work = [(block, point)]
    while work:
        current, start = work.pop()
        if start == 0 and current.predicate is value and value not in current.instructions:
            return True
        rest = current.instructions[start:]
        verdict = next((v for i in rest if (v := verdict_of(i, value)) is not None), None)
        if verdict:
            return True
        if verdict is False:
            continue
        for target in current.successors:
            if any(v is value for p in target.phis() for v, source in p.incoming() if source is current):
                return True
            if target not in seen:
                seen.add(target)
                work.append((target, 0))
    return False


def verdict_of(instruction: Instruction, value: Value) -> bool | None:
    """Whether the instruction uses the value, or, when False, ends its search by defining it."""
    used = [instruction.shadow] if instruction.is_phi else list(instruction.used_values())
    if any(v is value for v in used):
        return True
    return False if instruction is value else None


@given(functions())
def test_a_value_is_live_if_a_path_leads_to_a_use(function: Function):
    live = liveness(function)
    values = [*function.args, *(i for i in function.instructions() if not i.type.is_void)]
    for block in function.blocks:
        for point in range(len(block.instructions) + 1):
            found = live.at(block, point)
            if point == 0:
                found.update(live.live_in[block])
            for value in values:
                assert (value in found) == is_live(value, block, point), (value, block, point)


def test_order_of_live_values_does_not_change_between_runs():
    text = """
    define i32 @f(i32 %a, i32 %b) {
    entry:
      %x = add i32 %a, %b
      %y = mul i32 %a, %b
      br label %next
    next:
      %z = sub i32 %y, %x
      ret i32 %z
    }
    """
    orders = []
    for _ in range(2):
        function = read_module(text).functions["f"]
        orders.append([v.name for v in liveness(function).live_out[function.entry]])
    assert orders[0] == orders[1] and sorted(orders[0]) == ["x", "y"]


def test_after_an_instruction_its_own_result_does_not_count():
    function = read_module(
        """
        define i32 @f(i32 %a) {
          %x = add i32 %a, 1
          %y = mul i32 %x, %x
          ret i32 %y
        }
        """
    ).functions["f"]
    x, y, _ = function.entry.instructions
    live = liveness(function)
    assert list(live.after(x)) == []
    assert list(live.after(y)) == []
    assert list(live.at(function.entry, 1)) == [x]
