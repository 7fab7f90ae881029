"""How far fuzzing has come: each run goes on where the last one ended.

``WEFT_FUZZ=n`` draws n more programs for each test that uses this; the counts are in ``out/fuzz``, one file a test,
and are written as it goes on, so a run may be ended at any time. Without it, the first programs are taken.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType

FOLDER = Path(__file__).parents[2] / "out" / "fuzz"
SAVE_EVERY = 100


class Progress:
    """Iterates over program numbers; `claims` counts what was checked in them."""

    def __init__(self, name: str, programs: int) -> None:
        self.name = name
        self.is_fuzzing = bool(os.environ.get("WEFT_FUZZ"))
        self.first = 0
        self.claims = 0
        self.wanted = programs
        if self.is_fuzzing:
            self.wanted = int(os.environ["WEFT_FUZZ"])
            state = json.loads(self.file.read_text()) if self.file.exists() else {"programs": 0, "claims": 0}
            self.first, self.claims = state["programs"], state["claims"]
        self.done = self.first

    @property
    def file(self) -> Path:
        return FOLDER / f"{self.name}.json"

    def __iter__(self) -> Iterator[int]:
        for number in range(self.first, self.first + self.wanted):
            yield number
            self.done = number + 1
            if self.is_fuzzing and self.done % SAVE_EVERY == 0:
                self._save()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.is_fuzzing:
            self._save()

    def _save(self) -> None:
        FOLDER.mkdir(parents=True, exist_ok=True)
        self.file.write_text(json.dumps({"programs": self.done, "claims": self.claims}))

    def record(self, record_property: Callable[[str, object], None]) -> None:
        """Have the counts printed at the end of the test run, those of all parts of a search together."""
        search = self.name.rstrip("-0123456789")
        record_property(f"counted {search} programs", self.done)
        record_property(f"counted {search} claims", self.claims)
