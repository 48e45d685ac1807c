"""Streams of pages from a server."""

from __future__ import annotations

import http.client
import json
import ssl
import time
import urllib.parse
import warnings
from typing import Any, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from ._page import Page

Values = Union[str, int, Sequence[Union[str, int]]]

#: Read timeout of a connection, in seconds.
READ_TIMEOUT = 60.0
_CHUNK_BYTES = 1 << 16
#: Maximum number of consecutive attempts without progress.
MAX_RECONNECTS = 8
#: Delay before the first reconnect, in seconds; doubled for each further one.
INITIAL_BACK_OFF = 0.25


class StreamError(Exception):
    """The server rejected the request, or cannot be reached."""


class CorruptPage(UserWarning):
    """The record of a page is corrupt; the page is skipped."""


def stream(
    url: str,
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
    limit: Optional[int] = None,
    columns: Optional[Sequence[str]] = None,
    snapshot: Optional[str] = None,
    token: Optional[str] = None,
    ca_file: Optional[str] = None,
) -> Iterator[Page]:
    """Yields the pages of a collection.

    ``url`` is the URL of ``weir serve``. The filters are those of ``weir cat``; ``site``, ``domain``,
    ``language``, ``status`` and ``mime_type`` take one value or several. ``shard="2/4"`` is the second of four
    shards, which together contain each page once. ``where`` is a filter such as
    ``"status = 200 and body_bytes > 10000"``. ``columns`` selects the columns of a page; fewer are faster.
    ``token`` is the access token of the server, ``ca_file`` a PEM file with additional CA certificates for
    ``https://``. After a lost connection the stream resumes after the last page, of the same commit.
    """
    columns = list(columns) if columns is not None else None
    if columns is not None and "cursor" not in columns:
        columns.append("cursor")
    pairs = query_pairs(
        site=site, domain=domain, language=language, status=status, mime_type=mime_type, since=since,
        before=before, where=where, order=order, shard=shard, snapshot=snapshot,
    )
    pairs.append(("format", "jsonl"))
    if columns is not None:
        pairs.append(("columns", ",".join(columns)))
    for row in _rows(url, pairs, after, limit, Access(token, ca_file)):
        if "error" in row:
            warnings.warn(f"page {row['page_id']} is skipped: {row['error']}", CorruptPage, stacklevel=2)
        else:
            yield Page.of(row)


def _rows(
    url: str,
    pairs: List[Tuple[str, str]],
    cursor: Optional[str],
    left: Optional[int],
    access: "Access",
) -> Iterator[Dict[str, Any]]:
    breaks, has_begun = 0, False
    while left is None or left > 0:
        query = list(pairs)
        if cursor is not None:
            # The cursor contains the order and the commit, which must not contradict it.
            query = [pair for pair in query if pair[0] not in ("order", "snapshot")] + [("after", cursor)]
        if left is not None:
            query.append(("limit", str(left)))
        try:
            with Response(url, query, access) as response:
                has_begun = True
                for line in response.lines():
                    row = json.loads(line)
                    cursor, breaks = row["cursor"], 0
                    if left is not None and "error" not in row:
                        left -= 1
                    yield row
            return
        except Broken as broken:
            breaks = pause(url, breaks, broken, has_begun)


def commit(url: str, access: "Access") -> Optional[str]:
    """Generation of the last commit of the server."""
    breaks = 0
    while True:
        try:
            with Response(url, [("format", "urls"), ("limit", "0")], access) as response:
                return response.snapshot
        except Broken as broken:
            breaks = pause(url, breaks, broken, has_begun=False)


class Broken(Exception):
    """The connection ended before the response."""


class Refused(Broken):
    """No server listens at the address."""


def pause(url: str, breaks: int, broken: Broken, has_begun: bool) -> int:
    """Waits before the next attempt and returns their number; raises after too many.

    A server that restarts refuses connections for a while. One that refuses the first connection is not there.
    """
    if isinstance(broken, Refused) and not has_begun:
        raise StreamError(f"cannot connect to {url}: {broken}; is `weir serve` running?") from broken
    if breaks >= MAX_RECONNECTS:
        raise StreamError(f"connection to {url} lost: {broken}") from broken
    time.sleep(INITIAL_BACK_OFF * 2**breaks)
    return breaks + 1


def query_pairs(**filters: Union[None, Values]) -> List[Tuple[str, str]]:
    """Query parameters of the filters."""
    pairs: List[Tuple[str, str]] = []
    for name, values in filters.items():
        if values is None:
            continue
        is_single = isinstance(values, (str, int))
        pairs.extend((name, str(value)) for value in ([values] if is_single else values))  # type: ignore[union-attr]
    return pairs


class Access(NamedTuple):
    """Credentials and trusted certificates."""

    token: Optional[str] = None
    ca_file: Optional[str] = None

    def headers(self) -> Mapping[str, str]:
        """Request headers."""
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def context(self) -> ssl.SSLContext:
        """TLS configuration."""
        context = ssl.create_default_context()
        if self.ca_file:
            context.load_verify_locations(self.ca_file)
        return context


def connect(
    url: str, method: str, target: str, access: Access, headers: Mapping[str, str], body: Optional[str] = None
) -> Tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
    """Sends a request to a path below the server's URL."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise StreamError(f"invalid server URL {url!r}: expected http:// or https://")
    connection = (
        http.client.HTTPSConnection(parts.hostname, parts.port, timeout=READ_TIMEOUT, context=access.context())
        if parts.scheme == "https"
        else http.client.HTTPConnection(parts.hostname, parts.port, timeout=READ_TIMEOUT)
    )
    try:
        connection.request(method, parts.path.rstrip("/") + target, body=body, headers=dict(headers))
        return connection, connection.getresponse()
    except ssl.SSLCertVerificationError as error:
        connection.close()
        raise StreamError(f"TLS certificate of {url} is invalid: {error.verify_message}; add its CA certificate with ca_file") from error
    except ConnectionRefusedError as error:
        connection.close()
        raise Refused("connection refused") from error
    except (OSError, http.client.HTTPException) as error:
        connection.close()
        raise Broken(str(error) or type(error).__name__) from error


class Response:
    """Response to one request, read as it arrives."""

    def __init__(self, url: str, query: Iterable[Tuple[str, str]], access: Access) -> None:
        path = urllib.parse.urlsplit(url).path.rstrip("/")
        path = "" if path.endswith("/stream") else "/stream"
        target = f"{path}?{urllib.parse.urlencode(list(query))}"
        self._connection, self._response = connect(url, "GET", target, access, access.headers())
        if self._response.status != 200:
            self._reject(url)

    @property
    def snapshot(self) -> Optional[str]:
        """Generation of the commit that is read."""
        return self._response.getheader("Weir-Snapshot")

    def lines(self) -> Iterator[bytes]:
        """Lines of the body, without line breaks."""
        rest = b""
        while True:
            piece = self.read(_CHUNK_BYTES)
            if not piece:
                break
            *lines, rest = (rest + piece).split(b"\n")
            yield from lines
        if rest:
            raise Broken("incomplete last line")

    def read(self, size: int) -> bytes:
        """Reads some bytes; none at the end."""
        try:
            return self._response.read1(size)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Broken(str(error) or type(error).__name__) from error

    def __enter__(self) -> "Response":
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def _reject(self, url: str) -> None:
        status, body = self._response.status, self._response.read(65536)
        self._connection.close()
        if status == 429 or status >= 500:
            raise Broken(f"HTTP {status}")
        try:
            message = json.loads(body)["error"]
        except (ValueError, KeyError, TypeError):
            message = "no stream at this URL"
        raise StreamError(f"{url} rejected the request: HTTP {status}: {message}")
