"""Pages one after the other, from a server."""

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

#: So long nothing may come before a connection counts as broken, in seconds.
SILENCE = 60.0
_PIECE = 1 << 16
#: So often in a row a connection may break without having brought anything.
MOST_BREAKS = 8
#: Before the first new attempt, in seconds; twice as long before each that follows.
FIRST_PAUSE = 0.25


class StreamError(Exception):
    """The server says no, or cannot be reached."""


class Damaged(UserWarning):
    """A page could not be read from the archive and is left out."""


def stream(
    url: str,
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
    max: Optional[int] = None,
    columns: Optional[Sequence[str]] = None,
    snapshot: Optional[str] = None,
    token: Optional[str] = None,
    ca_file: Optional[str] = None,
) -> Iterator[Page]:
    """Gives the pages of a collection one after the other.

    ``url`` is that of ``weir serve``. The conditions mean the same as those of ``weir cat``; ``site``,
    ``domain``, ``language``, ``status`` and ``mime`` take one value or several. ``part="2/4"`` is the
    second of four shares that have every page once together. ``where`` is a condition such as
    ``"status = 200 and size > 10000"``. ``columns`` says what a page has; less is faster. ``token`` is what
    the server wants to be told, ``ca_file`` has certificates of authorities to trust for ``https://``, beside
    the usual ones. After a break the stream goes on behind the last page, of the same commit.
    """
    columns = list(columns) if columns is not None else None
    if columns is not None and "position" not in columns:
        columns.append("position")
    pairs = query_pairs(
        site=site, domain=domain, language=language, status=status, mime=mime, since=since,
        before=before, where=where, order=order, part=part, snapshot=snapshot,
    )
    pairs.append(("format", "jsonl"))
    if columns is not None:
        pairs.append(("columns", ",".join(columns)))
    for row in _rows(url, pairs, from_, max, Access(token, ca_file)):
        if "error" in row:
            warnings.warn(f"page {row['page_id']} is left out: {row['error']}", Damaged, stacklevel=2)
        else:
            yield Page.of(row)


def _rows(
    url: str,
    pairs: List[Tuple[str, str]],
    position: Optional[str],
    left: Optional[int],
    access: "Access",
) -> Iterator[Dict[str, Any]]:
    breaks = 0
    while left is None or left > 0:
        query = list(pairs)
        if position is not None:
            # The order follows from the position, and must not contradict it.
            query = [pair for pair in query if pair[0] not in ("order", "snapshot")] + [("from", position)]
        if left is not None:
            query.append(("max", str(left)))
        try:
            with Answer(url, query, access) as answer:
                for line in answer.lines():
                    row = json.loads(line)
                    position, breaks = row["position"], 0
                    if left is not None and "error" not in row:
                        left -= 1
                    yield row
            return
        except Broken as broken:
            breaks = pause(url, breaks, broken)


def commit(url: str, access: "Access") -> Optional[str]:
    """The commit that a stream would be of now."""
    breaks = 0
    while True:
        try:
            with Answer(url, [("format", "urls"), ("max", "0")], access) as answer:
                return answer.snapshot
        except Broken as broken:
            breaks = pause(url, breaks, broken)


class Broken(Exception):
    """A connection ended before the answer did."""


def pause(url: str, breaks: int, broken: Broken) -> int:
    """Waits before the next attempt; tells how many there were. After too many it gives up."""
    if breaks >= MOST_BREAKS:
        raise StreamError(f"the stream of {url} broke off: {broken}") from broken
    time.sleep(FIRST_PAUSE * 2**breaks)
    return breaks + 1


def query_pairs(**conditions: Union[None, Values]) -> List[Tuple[str, str]]:
    """Conditions as the server understands them."""
    pairs: List[Tuple[str, str]] = []
    for name, values in conditions.items():
        if values is None:
            continue
        one = isinstance(values, (str, int))
        pairs.extend((name, str(value)) for value in ([values] if one else values))  # type: ignore[union-attr]
    return pairs


class Access(NamedTuple):
    """What it takes to be let in, and to be sure who lets in."""

    token: Optional[str] = None
    ca_file: Optional[str] = None

    def headers(self) -> Mapping[str, str]:
        """What a request says of it."""
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def context(self) -> ssl.SSLContext:
        """Whom to trust."""
        context = ssl.create_default_context()
        if self.ca_file:
            context.load_verify_locations(self.ca_file)
        return context


class Answer:
    """The answer to one request, as it comes."""

    def __init__(self, url: str, query: Iterable[Tuple[str, str]], access: Access) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise StreamError(f"{url!r} is no URL of a server")
        self._connection = (
            http.client.HTTPSConnection(parts.hostname, parts.port, timeout=SILENCE, context=access.context())
            if parts.scheme == "https"
            else http.client.HTTPConnection(parts.hostname, parts.port, timeout=SILENCE)
        )
        path = parts.path.rstrip("/")
        path = path if path.endswith("/stream") else path + "/stream"
        target = f"{path}?{urllib.parse.urlencode(list(query))}"
        try:
            self._connection.request("GET", target, headers=access.headers())
            self._response = self._connection.getresponse()
        except ssl.SSLCertVerificationError as error:
            self._connection.close()
            raise StreamError(f"{url} cannot be trusted: {error.verify_message}; give its authority as ca_file") from error
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise Broken(str(error) or type(error).__name__) from error
        if self._response.status != 200:
            self._refuse(url)

    @property
    def snapshot(self) -> Optional[str]:
        """The commit that the stream is of."""
        return self._response.getheader("Weir-Snapshot")

    def lines(self) -> Iterator[bytes]:
        """Its lines, without their ends."""
        rest = b""
        while True:
            piece = self.read(_PIECE)
            if not piece:
                break
            *lines, rest = (rest + piece).split(b"\n")
            yield from lines
        if rest:
            raise Broken("a line was cut off")

    def read(self, size: int) -> bytes:
        """Some bytes; none at the end."""
        try:
            return self._response.read1(size)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Broken(str(error) or type(error).__name__) from error

    def __enter__(self) -> "Answer":
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def _refuse(self, url: str) -> None:
        status, body = self._response.status, self._response.read(65536)
        self._connection.close()
        if status == 429 or status >= 500:
            raise Broken(f"the server answers {status}")
        try:
            sentence = json.loads(body)["error"]
        except (ValueError, KeyError, TypeError):
            sentence = "there is no stream"
        raise StreamError(f"{url} answers {status}: {sentence}")
