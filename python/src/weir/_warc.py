"""Pages as WARC records, as they are stored."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Dict, Iterator, List, Optional, Tuple

from ._stream import Access, Answer, Broken, Values, pause, query_pairs

_PIECE = 1 << 16


@dataclass(frozen=True)
class Record:
    """A record: its fields, and what stands behind them."""

    fields: Dict[str, str]
    block: bytes

    @property
    def url(self) -> Optional[str]:
        """What was asked for."""
        return self.fields.get("WARC-Target-URI")

    @property
    def kind(self) -> Optional[str]:
        """``response``, or ``revisit`` if its body is that of another record."""
        return self.fields.get("WARC-Type")

    def http(self) -> Tuple[bytes, bytes]:
        """The head of HTTP with its empty line, and the body as it was sent, without chunks."""
        head, found, body = self.block.partition(b"\r\n\r\n")
        return (head + found, body) if found else (b"", self.block)


def records(
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
    verify: bool = False,
    format: str = "warc",
    snapshot: Optional[str] = None,
    token: Optional[str] = None,
    ca_file: Optional[str] = None,
) -> Iterator[Record]:
    """Gives the records of a collection one after the other; the conditions are those of :func:`stream`.

    ``format`` is ``warc``, or ``wet`` for texts, or ``wat`` for links. After a break the stream goes on
    behind the last record that came whole.
    """
    pairs = query_pairs(
        site=site, domain=domain, language=language, status=status, mime=mime, since=since, before=before, where=where,
        order=order, part=part, max=max,
    )
    pairs.extend([("format", format)] + ([("from", from_)] if from_ else []) + ([("verify", "1")] if verify else []))
    skip, breaks = 0, 0
    while True:
        query = pairs + ([("skip", str(skip))] if skip else []) + ([("snapshot", snapshot)] if snapshot else [])
        try:
            with Answer(url, query, Access(token, ca_file)) as answer:
                snapshot = answer.snapshot or snapshot
                for length, member in _members(answer):
                    record = _parse(member)
                    skip, breaks = skip + length, 0
                    yield record
            return
        except Broken as broken:
            breaks = pause(url, breaks, broken)


def _members(answer: Answer) -> Iterator[Tuple[int, bytes]]:
    """Gzip members, decompressed, with the length that each has compressed."""
    out: List[bytes] = []
    inflate, length = zlib.decompressobj(31), 0
    piece = answer.read(_PIECE)
    while piece:
        out.append(inflate.decompress(piece))
        length += len(piece) - len(inflate.unused_data)
        piece = inflate.unused_data
        if inflate.eof:
            yield length, b"".join(out)
            inflate, length, out = zlib.decompressobj(31), 0, []
        if not piece:
            piece = answer.read(_PIECE)
    if length:
        raise Broken("a record was cut off")


def _parse(member: bytes) -> Record:
    head, _, rest = member.partition(b"\r\n\r\n")
    lines: List[str] = head.decode("utf-8", "replace").split("\r\n")
    fields = {}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        fields[name.strip()] = value.strip()
    length = int(fields.get("Content-Length", "0"))
    return Record(fields, rest[:length])
