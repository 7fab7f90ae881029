"""Logs under ``weft.*``: what passes do, what the cache has, what is launched.

``WEFT_LOG=passes,cache,launch`` in the environment writes them to the standard error stream, and so does
``weft.log("launch")``. A program that sets up `logging` itself gets them by its own handlers.
"""

from __future__ import annotations

import logging
import os

from weft.diag.errors import SettingError

LOGGERS = ("passes", "cache", "launch", "check")

_FORMAT = "%(name)s: %(message)s"


def log(*names: str) -> None:
    """Log what happens from now on.

    Parameters
    ----------
    *names
        ``"passes"``: each pass with the time that it took. ``"cache"``: what is found in the compile cache, and what is
        not. ``"launch"``: each launch of a kernel and call of a function; these go through Python then. ``"check"``:
        what ``WEFT_CHECK=1`` does not check. Without names, all of them.

    Raises
    ------
    SettingError
        There is no such log.
    """
    for name in names:
        if name not in LOGGERS:
            raise SettingError(f"there is no log {name!r}", hint=f"logs are {', '.join(LOGGERS)}")
    top = logging.getLogger("weft")
    if not top.handlers and not logging.getLogger().handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter(_FORMAT))
        top.addHandler(handler)
    for name in names or LOGGERS:
        logging.getLogger(f"weft.{name}").setLevel(logging.DEBUG)
    if "launch" in (names or LOGGERS):
        _log_launches()


def log_as_the_environment_says() -> None:
    """Log what ``WEFT_LOG`` names; ``all`` is all of it."""
    wanted = os.environ.get("WEFT_LOG", "")
    names = [name.strip() for name in wanted.split(",") if name.strip()]
    if names:
        log(*([] if "all" in names else names))


def _log_launches() -> None:
    from weft.runtime.watching import WATCHERS, Event, watch

    logger = logging.getLogger("weft.launch")

    def told(event: Event) -> None:
        where = f" grid {event.grid}, block {event.block}," if event.grid else ""
        logger.debug(
            "%s %s:%s %.1f us, %d bytes", event.kind, event.name, where, 1e6 * event.seconds, event.bytes
        )

    told.__qualname__ = _log_launches.__qualname__
    if not any(getattr(w, "__qualname__", "") == told.__qualname__ for w in WATCHERS):
        watch(told)
