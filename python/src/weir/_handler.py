"""Handlers that process each page of a stream, in one or several processes."""

from __future__ import annotations

import json
import multiprocessing
import os
import time
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Sequence, Tuple

from ._page import Page
from ._stream import Access, commit, stream

#: Maximum number of retries after a recoverable error; the next error stops the handler.
MAX_RETRIES = 5
#: Delay before the first retry, in seconds; doubled for each further one.
INITIAL_BACK_OFF = 0.1


class Recoverable(Exception):
    """Raised by a handler when a retry with the same page may succeed."""


class Fatal(Exception):
    """Raised by a handler that must stop; the others continue. Any other exception has the same effect."""


class Handler:
    """Processor of all pages. Override :meth:`process`, and the other methods as needed.

    In :func:`run` with several shards each process has its own copy; afterwards, :meth:`merge` combines their
    results. So a handler must be picklable.
    """

    #: Columns that the handler reads; fewer are faster.
    columns: Sequence[str] = ("url", "page_id", "fetch_time", "status", "mime_type", "language", "title", "text")

    def init(self) -> None:
        """Called before the first page."""

    def process(self, page: Page) -> None:
        """Processes a page."""
        raise NotImplementedError

    def finish(self) -> None:
        """Called after the last page."""

    def merge(self, other: "Handler") -> None:
        """Adds the results of the copy of another shard. Only needed with several shards."""
        raise NotImplementedError(f"{type(self).__name__} has no merge(), which is needed with several shards")


@dataclass
class Stopped:
    """Handler stopped by an error: its name, the error, and the cursor after its last page."""

    name: str
    error: str
    cursor: Optional[str]


@dataclass
class Summary:
    """Result of a run."""

    pages: int = 0
    stopped: List[Stopped] = field(default_factory=list)


def run(
    url: str,
    handlers: Sequence[Handler],
    *,
    shards: int = 1,
    checkpoint: Optional[str] = None,
    checkpoint_pages: int = 10_000,
    **filters: Any,
) -> Summary:
    """Passes each page of a collection to all handlers.

    With ``shards=k``, k processes share the pages; the given handlers then hold the merged results.
    ``checkpoint`` is a file in which the cursor is saved periodically (one file per shard); a later run
    resumes there. The filters are those of :func:`weir.stream`.
    """
    if shards < 1:
        raise ValueError("shards must be 1 or more")
    if shards == 1:
        return _run_shard(url, list(handlers), checkpoint, checkpoint_pages, filters)[0]
    if filters.get("snapshot") is None and filters.get("after") is None:
        filters["snapshot"] = _commit(url, checkpoint, shards, filters)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(shards, mp_context=context) as pool:
        futures = []
        for number in range(1, shards + 1):
            shard_filters = dict(filters, shard=f"{number}/{shards}")
            file = f"{checkpoint}-{number}" if checkpoint else None
            futures.append(pool.submit(_run_shard, url, list(handlers), file, checkpoint_pages, shard_filters))
        errors = [future.exception() for future in futures]
    if all(errors):
        raise errors[0]  # type: ignore[misc]
    return _merge(handlers, futures, errors)


def _merge(
    handlers: Sequence[Handler], futures: "List[Future[Tuple[Summary, List[Handler]]]]", errors: "List[Optional[BaseException]]"
) -> Summary:
    """Combines the results of the shards. A shard that failed is reported like a handler that was stopped."""
    summary, is_first = Summary(), True
    for number, (future, error) in enumerate(zip(futures, errors), start=1):
        if error:
            summary.stopped.append(Stopped(f"shard {number}/{len(futures)}", f"{type(error).__name__}: {error}", None))
            continue
        shard_summary, found = future.result()
        summary.pages += shard_summary.pages
        summary.stopped += shard_summary.stopped
        for handler, copy in zip(handlers, found):
            if is_first:
                handler.__dict__.update(copy.__dict__)
            else:
                handler.merge(copy)
        is_first = False
    return summary


def _commit(url: str, checkpoint: Optional[str], shards: int, filters: Dict[str, Any]) -> Optional[str]:
    """Commit that all shards read, so that they agree while a crawl commits."""
    files = [f"{checkpoint}-{number}" for number in range(1, shards + 1)] if checkpoint else []
    for cursor in filter(None, map(_read_cursor, files)):
        return cursor.partition(".")[0]
    return commit(url, Access(filters.get("token"), filters.get("ca_file")))


def _run_shard(
    url: str,
    handlers: List[Handler],
    checkpoint: Optional[str],
    checkpoint_pages: int,
    filters: Dict[str, Any],
) -> "tuple[Summary, List[Handler]]":
    summary = Summary()
    columns = sorted({column for handler in handlers for column in handler.columns})
    first = filters.pop("after", None)
    cursor = _read_cursor(checkpoint) or first
    active = [handler for handler in handlers if _call_with_retry(handler, "init", summary, cursor)]
    for page in stream(url, columns=columns, after=cursor, **filters):
        active = [handler for handler in active if _call_with_retry(handler, "process", summary, cursor, page)]
        if not active:
            break
        cursor = page.cursor
        summary.pages += 1
        if checkpoint and summary.pages % checkpoint_pages == 0:
            _write_cursor(checkpoint, cursor)
    if checkpoint and cursor and active:
        _write_cursor(checkpoint, cursor)
    for handler in active:
        _call_with_retry(handler, "finish", summary, cursor)
    return summary, handlers


def _call_with_retry(handler: Handler, name: str, summary: Summary, cursor: Optional[str], *arguments: Any) -> bool:
    """Calls a handler with retries; returns whether it is still active."""
    for retry in range(MAX_RETRIES + 1):
        try:
            getattr(handler, name)(*arguments)
            return True
        except Recoverable as error:
            message = str(error)
            if retry < MAX_RETRIES:
                time.sleep(INITIAL_BACK_OFF * 2**retry)
        except Fatal as error:
            message = str(error)
            break
        except Exception as error:  # A defect of one handler must not cost the results of the others.
            message = f"{type(error).__name__}: {error}"
            break
    summary.stopped.append(Stopped(type(handler).__name__, message, cursor))
    return False


def _read_cursor(path: Optional[str]) -> Optional[str]:
    if not path or not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        cursor = json.load(file)["cursor"]
    return str(cursor)


def _write_cursor(path: str, cursor: Optional[str]) -> None:
    with open(path + ".next", "w", encoding="utf-8") as file:
        json.dump({"cursor": cursor}, file)
    os.replace(path + ".next", path)
