"""Symbolic arithmetic on integers: expressions over a program's own variables, and what can be proved of them.

The parts of Juravle's chapter 7, derived anew over the integers: `expression` (normal form), `facts` (signs,
comparison, monotonicity), `extent` (least and greatest values), `equations` (Algorithm 7), `integer_sets` (affine
sets, by isl).
"""
