"""Loops brought into a form that lanes can run, one kind of loop a file."""
