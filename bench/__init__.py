"""Measurements against peers; ``python -m bench.<name>`` runs one."""
