"""Something to do with every page, by itself or in several processes."""

from __future__ import annotations

import json
import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Sequence

from ._page import Page
from ._stream import Access, commit, stream

#: How often a handler gets a page again after a recoverable error; the next is fatal.
RETRIES = 5
#: How long it waits before the first of them, in seconds; twice as long before each that follows.
FIRST_PAUSE = 0.1


class Recoverable(Exception):
    """To be raised by a handler: it may go better the next time. The same page comes again."""


class Fatal(Exception):
    """To be raised by a handler: it is done. Others go on."""


class Handler:
    """What a user writes to study all pages. Override :meth:`process`, and the others as needed.

    In :func:`run` with several parts every process has a copy of its own; afterwards, :meth:`merge` puts
    together what they have found. So a handler must be picklable.
    """

    #: What it wants to know of a page; less is faster.
    columns: Sequence[str] = ("url", "page_id", "time", "status", "mime", "language", "title", "text")

    def init(self) -> None:
        """Before the first page."""

    def process(self, page: Page) -> None:
        """A page."""
        raise NotImplementedError

    def finish(self) -> None:
        """Behind the last page."""

    def merge(self, other: "Handler") -> None:
        """Takes over what the copy of another part has found. Only needed with several parts."""
        raise NotImplementedError(f"{type(self).__name__} has no merge(), which several parts need")


@dataclass
class Stopped:
    """A handler that had to stop: its name, why, and up to which page it has done its work."""

    name: str
    why: str
    position: Optional[str]


@dataclass
class Summary:
    """What came of a run."""

    pages: int = 0
    stopped: List[Stopped] = field(default_factory=list)


def run(
    url: str,
    handlers: Sequence[Handler],
    *,
    parts: int = 1,
    checkpoint: Optional[str] = None,
    checkpoint_pages: int = 10_000,
    **conditions: Any,
) -> Summary:
    """Shows the pages of a collection to all handlers, each page once.

    With ``parts=k``, k processes share the pages; the handlers given here then hold what all have found.
    ``checkpoint`` names a file in which the position is noted from time to time (one for each part); a later
    run goes on from there. The conditions are those of :func:`weir.stream`.
    """
    if parts < 1:
        raise ValueError("parts must be 1 or more")
    if parts == 1:
        return _run_part(url, list(handlers), checkpoint, checkpoint_pages, conditions)[0]
    if conditions.get("snapshot") is None and conditions.get("from_") is None:
        conditions["snapshot"] = _commit(url, checkpoint, parts, conditions)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(parts, mp_context=context) as pool:
        futures = []
        for number in range(1, parts + 1):
            own = dict(conditions, part=f"{number}/{parts}")
            file = f"{checkpoint}-{number}" if checkpoint else None
            futures.append(pool.submit(_run_part, url, list(handlers), file, checkpoint_pages, own))
        results = [future.result() for future in futures]
    summary = Summary()
    for part, (of_part, found) in enumerate(results):
        summary.pages += of_part.pages
        summary.stopped += of_part.stopped
        for handler, copy in zip(handlers, found):
            if part == 0:
                handler.__dict__.update(copy.__dict__)
            else:
                handler.merge(copy)
    return summary


def _commit(url: str, checkpoint: Optional[str], parts: int, conditions: Dict[str, Any]) -> Optional[str]:
    """The commit that all parts read, so that a crawl in between cannot part them."""
    files = [f"{checkpoint}-{number}" for number in range(1, parts + 1)] if checkpoint else []
    for position in filter(None, map(_read_position, files)):
        return position.partition(".")[0]
    return commit(url, Access(conditions.get("token"), conditions.get("ca_file")))


def _run_part(
    url: str,
    handlers: List[Handler],
    checkpoint: Optional[str],
    checkpoint_pages: int,
    conditions: Dict[str, Any],
) -> "tuple[Summary, List[Handler]]":
    summary = Summary()
    columns = sorted({column for handler in handlers for column in handler.columns})
    first = conditions.pop("from_", None)
    position = _read_position(checkpoint) or first
    working = [handler for handler in handlers if _attempt(handler, "init", summary, position)]
    for page in stream(url, columns=columns, from_=position, **conditions):
        working = [handler for handler in working if _attempt(handler, "process", summary, position, page)]
        if not working:
            break
        position = page.position
        summary.pages += 1
        if checkpoint and summary.pages % checkpoint_pages == 0:
            _write_position(checkpoint, position)
    if checkpoint and position and working:
        _write_position(checkpoint, position)
    for handler in working:
        _attempt(handler, "finish", summary, position)
    return summary, handlers


def _attempt(handler: Handler, name: str, summary: Summary, position: Optional[str], *arguments: Any) -> bool:
    """Does something, again and again if that may help; tells whether the handler still works."""
    for retry in range(RETRIES + 1):
        try:
            getattr(handler, name)(*arguments)
            return True
        except Recoverable as error:
            why = str(error)
            if retry < RETRIES:
                time.sleep(FIRST_PAUSE * 2**retry)
        except Fatal as error:
            why = str(error)
            break
    summary.stopped.append(Stopped(type(handler).__name__, why, position))
    return False


def _read_position(path: Optional[str]) -> Optional[str]:
    if not path or not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        position = json.load(file)["position"]
    return str(position)


def _write_position(path: str, position: Optional[str]) -> None:
    with open(path + ".next", "w", encoding="utf-8") as file:
        json.dump({"position": position}, file)
    os.replace(path + ".next", path)
