"""Client for the pages of a Weir collection.

:func:`open` opens a collection, in a directory or behind a server, for searches, questions and control of a crawl. From the server
``weir serve DIR``,

* :func:`stream` yields the pages,
* :func:`records` yields them as WARC records with their bodies,
* :class:`Handler` and :func:`run` process each page, in one or several processes,
* :func:`table` returns a pyarrow table, and :func:`flight` yields record batches over Arrow Flight, which is fastest.

A lost connection is re-established, and the stream resumes after the last page received.
"""

from ._collection import Collection, open
from ._flight import flight
from ._handler import Fatal, Handler, Recoverable, Stopped, Summary, run
from ._page import Link, Page
from ._stream import CorruptPage, StreamError, stream
from ._table import batches, table
from ._warc import Record, records

__all__ = [
    "Collection",
    "CorruptPage",
    "Fatal",
    "Handler",
    "Link",
    "Page",
    "Record",
    "Recoverable",
    "Stopped",
    "StreamError",
    "Summary",
    "batches",
    "flight",
    "open",
    "records",
    "run",
    "stream",
    "table",
]
