"""Facts about any control-flow graph: orders, dominators, loops, compact block index."""
