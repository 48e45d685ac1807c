"""Study the pages of a Weir collection without crawling.

``weir serve DIR`` shows a collection to others. From there,

* :func:`stream` gives its pages one after the other,
* :func:`records` gives them as WARC records, bodies and all,
* :class:`Handler` and :func:`run` do something with every page, in as many processes as you like,
* :func:`table` makes a pyarrow table of them, and :func:`flight` gives batches by Arrow Flight, which is fastest.

A connection that breaks is made anew, and goes on behind the last page that came.
"""

from ._flight import flight
from ._handler import Fatal, Handler, Recoverable, Stopped, Summary, run
from ._page import Link, Page
from ._stream import Damaged, StreamError, stream
from ._table import batches, table
from ._warc import Record, records

__all__ = [
    "Damaged",
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
    "records",
    "run",
    "stream",
    "table",
]
