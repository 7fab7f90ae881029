"""Calls: builtins, device functions, printing, exceptions."""
