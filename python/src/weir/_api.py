"""Requests to the JSON API of a server."""

from __future__ import annotations

import contextlib
import json
import urllib.parse
from typing import Any, Dict, Mapping, Optional

from ._stream import Access, Broken, StreamError, connect


def call(
    url: str,
    path: str,
    access: Access,
    *,
    query: Optional[Mapping[str, Any]] = None,
    form: Optional[Mapping[str, Any]] = None,
) -> Dict[str, Any]:
    """Sends one request to ``/api/v1/PATH``: POST with a form, else GET. Nothing is retried."""
    target = f"/api/v1/{path}"
    if query:
        target += "?" + urllib.parse.urlencode({name: value for name, value in query.items() if value is not None})
    headers = dict(access.headers())
    if form is not None:
        headers["Content-Type"] = "application/x-www-form-urlencoded"
    try:
        connection, response = connect(
            url, "GET" if form is None else "POST", target, access, headers, None if form is None else urllib.parse.urlencode(form)
        )
        with contextlib.closing(connection):
            content = response.read()
    except (Broken, OSError) as error:
        raise StreamError(f"cannot reach {url}: {error}") from error
    try:
        value: Dict[str, Any] = json.loads(content) if content else {}
    except ValueError:
        value = {}
    if response.status >= 300:
        raise StreamError(f"{url} rejected the request: HTTP {response.status}: {value.get('message', path)}")
    return value
