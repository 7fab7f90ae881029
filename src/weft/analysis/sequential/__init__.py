"""Sequential loops, symbolically: Juravle's four analyses, which loops are parallel, and which memory they touch.

`scope` is a function in one context of calls, with its loops; `reconstruction`, `invariants`, `symbolic_ranges` and
`signs` are the analyses of chapter 8; `accesses`, `dependences`, `patterns`, `verdicts` and `sections` are chapter 4.
"""
