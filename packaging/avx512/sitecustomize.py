"""Processes that tests begin stand in for AVX-512, too: Python imports this file when it starts."""

import os

if os.environ.get("WEFT_STAND_IN"):
    import stand_in

    stand_in.install()
