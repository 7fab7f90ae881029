"""Calling a function in several threads at the same time."""

import threading
from collections.abc import Callable


def at_once(work: Callable[[int], object], threads: int = 8) -> list[object]:
    """Return what a function returns or raises in so many threads, begun together, by the threads' numbers."""
    together = threading.Barrier(threads)
    outcomes: list[object] = [None] * threads

    def call(number: int) -> None:
        together.wait()
        try:
            outcomes[number] = work(number)
        except BaseException as error:
            outcomes[number] = error

    started = [threading.Thread(target=call, args=(number,)) for number in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    return outcomes
