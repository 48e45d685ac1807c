"""What is known of a page."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any, List, Mapping, Optional


@dataclass(frozen=True)
class Link:
    """A link of a page: where it leads, and what it says."""

    url: str
    text: str
    kind: str
    rel: str


@dataclass(frozen=True)
class Page:
    """One page, as it was last stored. What was not asked for is ``None``.

    ``position`` is where a stream goes on behind this page: ``stream(..., from_=page.position)``.
    """

    url: Optional[str] = None
    page_id: Optional[int] = None
    time: Optional[str] = None
    status: Optional[int] = None
    mime: Optional[str] = None
    language: Optional[str] = None
    title: Optional[str] = None
    text: Optional[str] = None
    main_text: Optional[str] = None
    kept: Optional[str] = None
    links: List[Link] = field(default_factory=list)
    body: Optional[bytes] = None
    position: Optional[str] = None

    @staticmethod
    def of(row: Mapping[str, Any]) -> "Page":
        """Makes a page of a row, as the server writes it."""
        known = {name: row[name] for name in Page.__dataclass_fields__ if name in row}
        if known.get("body") is not None:
            known["body"] = base64.b64decode(known["body"])
        if known.get("links") is not None:
            known["links"] = [Link(**link) for link in known["links"]]
        return Page(**known)
