"""Sequential loops, symbolically: Juravle's four analyses, which loops are parallel, and which memory they touch.

`scope` is a function in one context of calls, with its loops; `reconstruction`, `invariants` and `symbolic_ranges`
are the analyses of chapter 8; `accesses`, `dependences`, `patterns`, `verdicts` and `sections` are chapter 4.
"""
