"""Why a value is not uniform, or a branch divergent: the shortest chain of causes back to a source.

What varies is a node: a value, a branch, or a stack object. Its causes are read off the fixed point of the divergence
analysis: operands that vary, branches that part the threads which a φ brings together, branches by which threads leave
a loop in different iterations, addresses, stores. A breadth-first search ends at the nearest *source*: a thread id, an
argument, an atomic, an unknown function.
"""

from __future__ import annotations

from collections import deque

from msgspec import Struct

from weft.analysis.divergence import Divergence
from weft.analysis.explanation.causes import BY_THREAD, BranchNode, Cause, Causes, Node, ObjectNode
from weft.analysis.explanation.words import Words
from weft.analysis.memory.stack_objects import Site
from weft.diag.source import SourceSpan
from weft.ir import BasicBlock, Constant, Instruction, Value
from weft.ir.locations import span_of


class Step(Struct, frozen=True):
    """One cause.

    Parameters
    ----------
    text
        What varies and why, in words; the next step says why that is so.
    subject
        The value, or the terminator of the branch, that the step is about.
    span
        Where that is in the source.
    """

    text: str
    subject: Value
    span: SourceSpan | None = None


PLAIN = Words()
"""Names and lines by debug information."""


def explain_value(divergence: Divergence, value: Value, words: Words = PLAIN) -> tuple[Step, ...]:
    """Why threads have different values; empty for a uniform value."""
    if isinstance(value, Constant) or divergence.shape(value).is_uniform:
        return ()
    return _Search(divergence, words).chain(value)


def explain_branch(divergence: Divergence, block: BasicBlock, words: Words = PLAIN) -> tuple[Step, ...]:
    """Why the branch of a block is divergent; empty if it is not."""
    if not divergence.is_divergent_branch(block):
        return ()
    return _Search(divergence, words).chain(BranchNode(divergence.engine.blocks[block]))


def explain_object(divergence: Divergence, site: Site, words: Words = PLAIN) -> tuple[Step, ...]:
    """Why threads may have different contents in a stack object; empty for a uniform one."""
    return () if divergence.is_uniform_object(site) else _Search(divergence, words).chain(ObjectNode(site))


def explain_activation(divergence: Divergence, block: BasicBlock, words: Words = PLAIN) -> tuple[Step, ...]:
    """Why a block may run for a part of the threads; empty if it never does."""
    search = _Search(divergence, words)
    number = divergence.engine.blocks[block]
    chains = [search.chain(node) for node in search.causes.partial_because(number)]
    return min(chains, key=len, default=())


def sentence(steps: tuple[Step, ...]) -> str:
    """All steps in one sentence."""
    return "; ".join(step.text for step in steps)


class _Search:
    def __init__(self, divergence: Divergence, words: Words) -> None:
        self.divergence = divergence
        self.words = words
        self.engine = divergence.engine
        self.causes = Causes(divergence, words)

    def chain(self, start: Node) -> tuple[Step, ...]:
        """The shortest chain of causes from `start` to a source."""
        found: dict[Node, Cause | None] = {start: None}
        queue = deque([start])
        while queue:
            node = queue.popleft()
            for cause in self.causes.of(node):
                if cause.because is None:
                    return self._steps(cause, found)
                if cause.because not in found:
                    found[cause.because] = cause
                    queue.append(cause.because)
        return ()

    def _steps(self, last: Cause, found: dict[Node, Cause | None]) -> tuple[Step, ...]:
        path: list[Cause] = []
        cause: Cause | None = last
        while cause is not None:
            path.append(cause)
            cause = found[cause.node]
        path.reverse()
        kept = self._worth_mentioning(path)
        steps = [self._step(c, after) for c, after in zip(kept, [*kept[1:], None], strict=True)]
        if len(kept) > 1 and kept[-1].reason == BY_THREAD and "{}" in kept[-2].reason:
            # An id that the step before names speaks for itself.
            steps.pop()
        return tuple(steps)

    def _step(self, cause: Cause, after: Cause | None) -> Step:
        subject = self._subject(cause.node)
        text = cause.reason
        if "{}" in text:
            following = after.node if after is not None else cause.because
            assert following is not None
            text = text.replace("{}", self.words.describe(self._subject(following)))
        span = span_of(subject) if isinstance(subject, Instruction) else None
        return Step(f"{self.words.describe(subject)} {text}", subject, span)

    def _worth_mentioning(self, path: list[Cause]) -> list[Cause]:
        """Leave out arithmetic and copies that the user has no name for."""
        kept: list[Cause] = []
        for position, cause in enumerate(path):
            node = cause.node
            inner = 0 < position < len(path) - 1
            if (
                inner
                and isinstance(node, Instruction)
                and self._is_dull(cause, node, path[position + 1].node)
            ):
                continue
            kept.append(cause)
        return kept

    def _is_dull(self, cause: Cause, node: Instruction, after: Node) -> bool:
        name = self.words.name(node)
        if cause.is_copy:
            return name is None or (isinstance(after, Value) and self.words.name(after) == name)
        return name is None and node.op not in ("phi", "load", "call")

    def _subject(self, node: Node) -> Value:
        if isinstance(node, BranchNode):
            return self.engine.control.view.blocks[node.block].terminator
        return node.site if isinstance(node, ObjectNode) else node
