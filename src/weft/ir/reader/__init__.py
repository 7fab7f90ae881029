"""The reader of LLVM 22 text and of its P-LLVM dialect.

``read_module(text)`` accepts what LLVM prints for the language of `weft.ir` and raises `IRSyntaxError`, with
file, line, column and caret, on anything else: nothing is dropped. The dialect adds four phrases to LLVM's
grammar (Moll, fig. 4.2; the sugar is ours):

==========================================  ==================================================
``bb: predicate(%m)``                       block `bb` executes under predicate ``%m``
``%x = phi i32 [...], ... shadow(%s)``      the φ's value for passive threads
``%x = total add i32 %a, %b``               executed on all threads
``guard(%g) store i32 %a, ptr %p``          executed under ``%g`` beside the predicate
==========================================  ==================================================

Numbered values and blocks (``%5``) keep their number as name, also where LLVM leaves it out in the text.
"""

from weft.ir.reader.module import read_module

__all__ = ["read_module"]
