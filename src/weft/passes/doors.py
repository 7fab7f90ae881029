"""Which passes a list leaves out, and why: what one door does, each door does, or it is said here.

A test compares with the lists, so that a pass that is added to one of them is either added to the others or has its
reason here.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

KERNELS, LOOPS, FOREIGN_LOOPS, FOREIGN_FUNCTIONS = (
    "kernels",
    "loops",
    "foreign loops",
    "foreign functions",
)


class LeftOut(Struct, frozen=True):
    """Passes that some lists leave out.

    Parameters
    ----------
    why
        The reason.
    lists
        The lists, by name.
    passes
        The passes, by name.
    """

    why: str
    lists: tuple[str, ...]
    passes: tuple[str, ...]


LEFT_OUT = (
    LeftOut(
        "only kernels have a grid, work-groups and barriers",
        (LOOPS, FOREIGN_LOOPS, FOREIGN_FUNCTIONS),
        (
            *(
                "work items",
                "barriers",
                "lane order",
                "grid walks",
                "lane plan",
                "threads alone",
                "bands",
                "rows",
            ),
            *(
                "lock step",
                "boxes",
                "group order",
                "lane groups",
                "continuations",
                "group atomics",
                "group loops",
            ),
            *("rounds together", "register rounds", "shared trees", "written trees", "tile rows"),
            *("updated arrays", "copies"),
        ),
    ),
    LeftOut(
        "only kernels have warps; functions of C that ask other lanes are for any number of these",
        (LOOPS, FOREIGN_LOOPS, FOREIGN_FUNCTIONS),
        ("written shuffles",),
    ),
    LeftOut(
        "only kernels have their code for threads one by one planned by a pass; for loops planning lanes does it",
        (LOOPS, FOREIGN_LOOPS, FOREIGN_FUNCTIONS),
        ("both ways",),
    ),
    LeftOut(
        "ids and positions in grids are what these are about; counters of loops have 64 bits, or the bits and the flags"
        " of their source",
        (LOOPS, FOREIGN_LOOPS, FOREIGN_FUNCTIONS),
        ("low halves", "signed counters", "signed indices", "wide comparisons"),
    ),
    LeftOut(
        "`signatures` and `obstacles` take apart what there is of these",
        (LOOPS, FOREIGN_LOOPS, FOREIGN_FUNCTIONS),
        ("aggregates",),
    ),
    LeftOut(
        "nobody is there who sees with which arguments it is called, and keeps a version for them",
        (FOREIGN_LOOPS, FOREIGN_FUNCTIONS),
        ("known parameters", "short rows"),
    ),
    LeftOut(
        "C, C++ and LLVM IR are compiled to code of one thread: nothing is shared by cores",
        (FOREIGN_LOOPS, FOREIGN_FUNCTIONS),
        ("parallel loops", "blocks inside", "inlined bodies", "row questions", "shared loads"),
    ),
    LeftOut(
        "of memory that C and LLVM IR never store to nobody knows whether it can be written",
        (FOREIGN_LOOPS, FOREIGN_FUNCTIONS),
        ("written back",),
    ),
    LeftOut(
        "where arrays end, and that what is not stored to can be, is known of what functions of Python are called with;"
        " a thread of a kernel works on a local array where its source says so",
        (KERNELS, FOREIGN_LOOPS, FOREIGN_FUNCTIONS),
        ("local rows",),
    ),
    LeftOut(
        "others may read the text, for whom its mark says more than is so",
        (FOREIGN_LOOPS, FOREIGN_FUNCTIONS),
        ("reads ahead",),
    ),
    LeftOut(
        "functions keep the signature that others call",
        (FOREIGN_LOOPS, FOREIGN_FUNCTIONS),
        ("entry",),
    ),
    LeftOut(
        "what they allocate is freed where the source says so",
        (KERNELS, FOREIGN_LOOPS, FOREIGN_FUNCTIONS),
        ("heap",),
    ),
    LeftOut(
        "kernels ask for threads; functions of C ask other lanes by functions of their own",
        (KERNELS, FOREIGN_LOOPS, FOREIGN_FUNCTIONS),
        ("no threads",),
    ),
    LeftOut(
        "a kernel is its entry point",
        (KERNELS,),
        ("parallel loops", "blocks inside", "inlined bodies", "entry"),
    ),
    LeftOut(
        "lanes are threads, or the calls of a function: loops in it are not looked for",
        (KERNELS, FOREIGN_FUNCTIONS),
        ("auto loops", "idle iterations", "butterflies", "guard bounds"),
    ),
    LeftOut(
        "loops in a thread, or in a call, are no others than that of the lanes; `auto loops` looks at those of C",
        (KERNELS, FOREIGN_LOOPS, FOREIGN_FUNCTIONS),
        ("plain loops", "cut rows"),
    ),
    LeftOut(
        "`fills` comes first, as there are no loops that have to be seen before",
        (KERNELS, FOREIGN_FUNCTIONS),
        ("filled runs",),
    ),
    LeftOut(
        "a thread has few iterations, and banks would be so many for each lane",
        (KERNELS, FOREIGN_FUNCTIONS),
        ("counter banks",),
    ),
    LeftOut(
        "`invariants` does that",
        (LOOPS, FOREIGN_LOOPS, FOREIGN_FUNCTIONS),
        ("tested loads",),
    ),
    LeftOut(
        "loops of Python are tested at their head; of C and LLVM IR `head tests` has them so",
        (LOOPS, FOREIGN_LOOPS, FOREIGN_FUNCTIONS),
        ("turned loops",),
    ),
    LeftOut(
        "`turned loops` does that, and loops of Python are tested at their head",
        (KERNELS, LOOPS),
        ("head tests",),
    ),
    LeftOut(
        "only instructions of PTX flush numbers",
        (LOOPS, FOREIGN_LOOPS, FOREIGN_FUNCTIONS),
        ("flushing mode",),
    ),
    LeftOut(
        "divergence analysis knows what is the same in all lanes, wherever it stands",
        (KERNELS,),
        ("invariants",),
    ),
    LeftOut(
        "the source of kernels and of Python has indices; pointers that move stay in kernels of C dialects",
        (KERNELS, LOOPS),
        ("moving pointers",),
    ),
    LeftOut(
        "these settle what other compilers say: how structs are passed, and which functions are the module's own",
        (KERNELS, LOOPS),
        ("signatures", "inlining"),
    ),
    LeftOut(
        "these are what the list for loops in their place is for",
        (KERNELS, LOOPS, FOREIGN_FUNCTIONS),
        ("loops",),
    ),
    LeftOut(
        "these are what the list for whole functions is for",
        (KERNELS, LOOPS, FOREIGN_LOOPS),
        ("parameters", "function"),
    ),
    LeftOut(
        "the width is chosen, and is 1 where threads or iterations had better run one after the other",
        (KERNELS, LOOPS, FOREIGN_LOOPS),
        ("lanes in turn",),
    ),
    LeftOut(
        "`function` does what `lanes` and `obstacles` do",
        (FOREIGN_FUNCTIONS,),
        ("lanes", "obstacles"),
    ),
)


def reasons() -> dict[tuple[str, str], str]:
    """Why a pass is left out, by its name and that of the list."""
    return {(name, each): left.why for left in LEFT_OUT for name in left.passes for each in left.lists}


def markdown() -> Iterator[str]:
    """The lines of a section with a table, as the documentation has it."""
    yield "### What a list leaves out"
    yield ""
    yield "| passes | left out for | because |"
    yield "|---|---|---|"
    for left in LEFT_OUT:
        names = ", ".join(f"`{name.replace(' ', '-')}`" for name in left.passes)
        yield f"| {names} | {', '.join(left.lists)} | {left.why} |"
