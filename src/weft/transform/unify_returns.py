"""One return instead of several: what vectorization asks for (Moll, §3.3: a region has one exit).

Precondition: P-LLVM without predicates, shadows and guards. Postcondition: the function has at most one ``ret``; the
results of those there were meet in a φ. Where a block ends in ``unreachable`` because what it calls does not return
(``abort``), threads leave as well, with poison. Preserves the program under FR.
"""

from __future__ import annotations

from weft.ir import Builder, Function, Poison
from weft.ir.effects import may_not_return


def unify_returns(function: Function) -> None:
    """Let every return of `function` be a branch to the only one."""
    for block in function.blocks:
        if block.terminator.op == "unreachable" and any(map(may_not_return, block.instructions)):
            block.terminator.erase()
            type = function.fn_type.result
            Builder(block).ret(None if type.is_void else Poison(type))
    returns = [b.terminator for b in function.blocks if b.terminator.op == "ret"]
    if len(returns) < 2:
        return
    builder = Builder(function.add_block("return"))
    assert builder.block is not None
    result = None if function.fn_type.result.is_void else builder.phi(function.fn_type.result, "result")
    for ret in returns:
        source = ret.block
        assert source is not None
        if result is not None:
            result.add_incoming(ret.operands[0], source)
        ret.erase()
        at = Builder(source)
        at.loc = ret.loc
        at.br(builder.block)
    builder.loc = returns[0].loc
    builder.ret(result)
