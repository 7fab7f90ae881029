"""PTX, NVIDIA's assembly language: read, checked and written, with nothing lost on the way."""
