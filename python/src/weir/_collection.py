"""Collections: in a directory of this machine, or behind a server."""

from __future__ import annotations

import json
import subprocess
import urllib.parse
import weakref
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence

from ._api import call
from ._handler import Handler, Summary, run
from ._page import Page
from ._stream import Access, StreamError, stream
from ._table import batches, table
from ._warc import Record, records

#: Number of hits that are requested at a time.
_HITS_PER_REQUEST = 100


def open(
    source: str, *, token: Optional[str] = None, ca_file: Optional[str] = None, program: str = "weir"
) -> "Collection":
    """Opens a collection: the URL of ``weir serve`` or ``weir crawl --serve``, or a directory.

    For a directory, ``program`` is started as ``weir serve`` on a free port of this machine, and ends with the
    collection::

        with weir.open("web") as collection:
            for hit in collection.search("garden chair", limit=10):
                print(hit["url"], hit["title"])

    ``token`` is the access token of the server, ``ca_file`` a PEM file with additional CA certificates.
    """
    if "://" in source:
        return Collection(source, Access(token, ca_file))
    server = _LocalServer.start(program, source)
    return Collection(server.url, Access(server.token, None), server.process)


class Collection:
    """Collection that answers queries. Create it with :func:`open`."""

    def __init__(
        self, url: str, access: Access, server: "Optional[subprocess.Popen[str]]" = None
    ) -> None:
        #: URL of the server.
        self.url = url
        self._access = access
        # Also ends the server of a collection that is not closed.
        self._close = weakref.finalize(self, _end, server) if server else None

    def close(self) -> None:
        """Ends the server of a directory."""
        if self._close:
            self._close()

    def __enter__(self) -> "Collection":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def stream(self, **filters: Any) -> Iterator[Page]:
        """Yields the pages; parameters as of :func:`weir.stream`."""
        return stream(self.url, **self._credentials(), **filters)

    def records(self, **filters: Any) -> Iterator[Record]:
        """Yields the pages as WARC records; parameters as of :func:`weir.records`."""
        return records(self.url, **self._credentials(), **filters)

    def table(self, **filters: Any) -> Any:
        """Returns the pages as a pyarrow table; parameters as of :func:`weir.table`."""
        return table(self.url, **self._credentials(), **filters)

    def batches(self, **filters: Any) -> Iterator[Any]:
        """Yields the pages as pyarrow record batches; parameters as of :func:`weir.batches`."""
        return batches(self.url, **self._credentials(), **filters)

    def run(self, handlers: Sequence[Handler], **options: Any) -> Summary:
        """Passes each page to all handlers; parameters as of :func:`weir.run`."""
        return run(self.url, handlers, **self._credentials(), **options)

    def search(self, query: str, *, limit: int = 10, **parameters: Any) -> Iterator[Dict[str, Any]]:
        """Yields the best hits of a query, with their url, title, snippet and score.

        ``parameters`` are those of ``/api/v1/search``, such as ``sort="date"`` or ``filter="lang:en"``.
        """
        offset = 0
        while offset < limit:
            size = min(_HITS_PER_REQUEST, limit - offset)
            response = self._get("search", q=query, offset=offset, limit=size, **parameters)
            hits: List[Dict[str, Any]] = response["hits"]
            yield from hits
            offset += size
            if len(hits) < size:
                return

    def why(self, url: str) -> Dict[str, Any]:
        """Explains why a URL was fetched or not: stage, reason, fetches, inlinks and priority."""
        return self._get("page", url=url)

    def status(self) -> Dict[str, Any]:
        """Counts of the last commit."""
        return self._get("status")

    def sites(self, **parameters: Any) -> Dict[str, Any]:
        """Sites; the parameters are ``filter``, ``sort``, ``offset`` and ``limit``."""
        return self._get("sites", **parameters)

    def crawl(self) -> Dict[str, Any]:
        """Progress of the crawl that runs in the process of the server."""
        return self._get("crawl")

    def pause(self) -> None:
        """Pauses the crawl: no new requests are sent."""
        self._post("crawl/pause")

    def resume(self) -> None:
        """Resumes a paused crawl."""
        self._post("crawl/resume")

    def stop(self, mode: str = "graceful") -> None:
        """Stops the crawl; ``immediate`` aborts requests in flight."""
        self._post("crawl/stop", mode=mode)

    def set_rate(self, max_requests_per_second: float) -> None:
        """Sets the maximum request rate of the crawl; 0 is unlimited."""
        self._post("crawl/rate", max_requests_per_second=max_requests_per_second)

    def _credentials(self) -> Dict[str, Any]:
        return {"token": self._access.token, "ca_file": self._access.ca_file}

    def _get(self, path: str, **parameters: Any) -> Dict[str, Any]:
        return call(self.url, path, self._access, query=parameters)

    def _post(self, path: str, **form: Any) -> None:
        call(self.url, path, self._access, form=form)


class _LocalServer(NamedTuple):
    """``weir serve`` in a child process."""

    process: "subprocess.Popen[str]"
    url: str
    token: Optional[str]

    @staticmethod
    def start(program: str, directory: str) -> "_LocalServer":
        command = [program, "serve", "--json", "--listen", "127.0.0.1:0", "--", directory]
        try:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        except OSError as error:
            raise StreamError(f"cannot run {program}: {error.strerror}; install weir, or pass its path as `program`") from error
        line = process.stdout.readline() if process.stdout else ""
        if not line:
            message = process.communicate()[1].strip()
            raise StreamError(f"cannot open {directory}: {message}")
        address: Mapping[str, Any] = json.loads(line)
        login = urllib.parse.urlsplit(address.get("login_url") or "")
        token = urllib.parse.parse_qs(login.query).get("token", [None])[0]
        return _LocalServer(process, address["url"], token)


def _end(process: "subprocess.Popen[str]") -> None:
    process.terminate()
    process.communicate()
