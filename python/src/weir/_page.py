"""Pages and their links."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any, List, Mapping, Optional


@dataclass(frozen=True)
class Link:
    """Link of a page: target URL, anchor text, element and rel."""

    url: str
    anchor: str
    kind: str
    rel: str


@dataclass(frozen=True)
class Page:
    """Newest stored version of a page. Columns that were not requested are ``None``.

    ``cursor`` resumes a stream after this page: ``stream(..., after=page.cursor)``.
    """

    url: Optional[str] = None
    page_id: Optional[int] = None
    fetch_time: Optional[str] = None
    status: Optional[int] = None
    mime_type: Optional[str] = None
    language: Optional[str] = None
    title: Optional[str] = None
    text: Optional[str] = None
    main_text: Optional[str] = None
    simplified_html: Optional[str] = None
    links: List[Link] = field(default_factory=list)
    body: Optional[bytes] = None
    cursor: Optional[str] = None

    @staticmethod
    def of(row: Mapping[str, Any]) -> "Page":
        """Creates a page from a row of the server."""
        known = {name: row[name] for name in Page.__dataclass_fields__ if name in row}
        if known.get("body") is not None:
            known["body"] = base64.b64decode(known["body"])
        if known.get("links") is not None:
            known["links"] = [Link(**link) for link in known["links"]]
        return Page(**known)
