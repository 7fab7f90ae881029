"""Partial linearization: no divergent branch, masks as block predicates."""
