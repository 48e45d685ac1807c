"""Record batches of pages over Arrow Flight, from ``weir serve --flight-listen``."""

from __future__ import annotations

import urllib.parse
from typing import TYPE_CHECKING, Iterator, Optional, Sequence

from ._stream import Broken, Refused, StreamError, Values, pause, query_pairs

if TYPE_CHECKING:
    import pyarrow  # type: ignore[import-untyped]


def flight(
    location: str,
    *,
    site: Values = (),
    domain: Values = (),
    language: Values = (),
    status: Values = (),
    mime_type: Values = (),
    since: Optional[str] = None,
    before: Optional[str] = None,
    where: Optional[str] = None,
    order: Optional[str] = None,
    shard: Optional[str] = None,
    after: Optional[str] = None,
    columns: Optional[Sequence[str]] = None,
    snapshot: Optional[str] = None,
    token: Optional[str] = None,
    ca_file: Optional[str] = None,
) -> "Iterator[pyarrow.RecordBatch]":
    """Yields the pages of a collection in record batches; ``location`` is ``grpc://host:port`` or
    ``grpc+tls://host:port``. Needs pyarrow.

    The filters are those of :func:`weir.stream`. After a lost connection the stream resumes after the last batch.
    """
    import pyarrow.flight  # type: ignore[import-untyped]

    pairs = query_pairs(
        site=site, domain=domain, language=language, status=status, mime_type=mime_type, since=since, before=before, where=where,
        order=order, shard=shard, snapshot=snapshot,
    )
    if columns is not None:
        pairs.append(("columns", ",".join(columns)))
    headers = [(b"authorization", f"Bearer {token}".encode())] if token else []
    options = pyarrow.flight.FlightCallOptions(headers=headers)
    tls_options = {}
    if ca_file:
        with open(ca_file, "rb") as file:
            tls_options["tls_root_certs"] = file.read()
    retryable = (pyarrow.flight.FlightUnavailableError, pyarrow.flight.FlightTimedOutError)
    cursor, breaks, has_begun = after, 0, False
    while True:
        query = list(pairs)
        if cursor is not None:
            query = [pair for pair in query if pair[0] not in ("order", "snapshot")] + [("after", cursor)]
        try:
            with pyarrow.flight.connect(location, **tls_options) as client:
                ticket = pyarrow.flight.Ticket(urllib.parse.urlencode(query).encode())
                reader = client.do_get(ticket, options)
                while True:
                    try:
                        chunk = reader.read_chunk()
                    except StopIteration:
                        return
                    has_begun = True
                    if chunk.app_metadata is not None:
                        cursor, breaks = chunk.app_metadata.to_pybytes().decode() or cursor, 0
                    if chunk.data.num_rows:
                        yield chunk.data
        except retryable as error:
            unavailable = isinstance(error, pyarrow.flight.FlightUnavailableError)
            breaks = pause(location, breaks, (Refused if unavailable else Broken)(str(error)), has_begun)
        except pyarrow.ArrowException as error:
            raise StreamError(f"{location}: {error}") from error

