"""Names by which compiled code and the runtime know each other; cheap to import."""

from __future__ import annotations

INTERRUPT_FLAG = "weft_interrupt"
"""The word that polls load: not zero when there may be an interrupt."""

POLL = "weft_poll"
"""The function that they call then, which returns when the code is to go on."""
