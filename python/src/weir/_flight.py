"""Batches of pages by Arrow Flight, from ``weir serve --flight``."""

from __future__ import annotations

import urllib.parse
from typing import TYPE_CHECKING, Iterator, Optional, Sequence

from ._stream import Broken, StreamError, Values, pause, query_pairs

if TYPE_CHECKING:
    import pyarrow  # type: ignore[import-untyped]


def flight(
    location: str,
    *,
    site: Values = (),
    domain: Values = (),
    language: Values = (),
    status: Values = (),
    mime: Values = (),
    since: Optional[str] = None,
    before: Optional[str] = None,
    where: Optional[str] = None,
    order: Optional[str] = None,
    part: Optional[str] = None,
    from_: Optional[str] = None,
    columns: Optional[Sequence[str]] = None,
    snapshot: Optional[str] = None,
    token: Optional[str] = None,
    ca_file: Optional[str] = None,
) -> "Iterator[pyarrow.RecordBatch]":
    """Gives the pages of a collection in batches; ``location`` is ``grpc://host:port``, or
    ``grpc+tls://host:port``. It needs pyarrow.

    The conditions are those of :func:`weir.stream`. After a break the stream goes on behind the last batch.
    """
    import pyarrow.flight  # type: ignore[import-untyped]

    pairs = query_pairs(
        site=site, domain=domain, language=language, status=status, mime=mime, since=since, before=before, where=where,
        order=order, part=part, snapshot=snapshot,
    )
    if columns is not None:
        pairs.append(("columns", ",".join(columns)))
    headers = [(b"authorization", f"Bearer {token}".encode())] if token else []
    options = pyarrow.flight.FlightCallOptions(headers=headers)
    authorities = {}
    if ca_file:
        with open(ca_file, "rb") as file:
            authorities["tls_root_certs"] = file.read()
    again = (pyarrow.flight.FlightUnavailableError, pyarrow.flight.FlightTimedOutError)
    position, breaks = from_, 0
    while True:
        query = list(pairs)
        if position is not None:
            query = [pair for pair in query if pair[0] not in ("order", "snapshot")] + [("from", position)]
        try:
            with pyarrow.flight.connect(location, **authorities) as client:
                ticket = pyarrow.flight.Ticket(urllib.parse.urlencode(query).encode())
                reader = client.do_get(ticket, options)
                while True:
                    try:
                        chunk = reader.read_chunk()
                    except StopIteration:
                        return
                    if chunk.app_metadata is not None:
                        position, breaks = chunk.app_metadata.to_pybytes().decode() or position, 0
                    if chunk.data.num_rows:
                        yield chunk.data
        except again as error:
            breaks = pause(location, breaks, Broken(str(error)))
        except pyarrow.ArrowException as error:
            raise StreamError(f"{location}: {error}") from error

