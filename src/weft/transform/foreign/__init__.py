"""What other compilers' programs need first."""
