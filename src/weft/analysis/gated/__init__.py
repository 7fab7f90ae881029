"""Gated SSA, and the analyses on it (Sampaio et al.): a second derivation, independent of the divergence engine."""
