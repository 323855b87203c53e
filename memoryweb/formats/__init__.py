"""How times are written on pages: the same everywhere, to the second."""
