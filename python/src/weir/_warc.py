"""Pages as WARC records, as they are stored."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Dict, Iterator, List, Optional, Tuple

from ._stream import Access, Response, Broken, Values, pause, query_pairs

_CHUNK_BYTES = 1 << 16


@dataclass(frozen=True)
class Record:
    """WARC record: header fields and block."""

    fields: Dict[str, str]
    block: bytes

    @property
    def url(self) -> Optional[str]:
        """URL of the record."""
        return self.fields.get("WARC-Target-URI")

    @property
    def kind(self) -> Optional[str]:
        """``response``, or ``revisit`` if another record has the same body."""
        return self.fields.get("WARC-Type")

    def http(self) -> Tuple[bytes, bytes]:
        """HTTP head with its empty line, and body without transfer coding."""
        head, found, body = self.block.partition(b"\r\n\r\n")
        return (head + found, body) if found else (b"", self.block)


def records(
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
    verify: bool = False,
    format: str = "warc",
    snapshot: Optional[str] = None,
    token: Optional[str] = None,
    ca_file: Optional[str] = None,
) -> Iterator[Record]:
    """Yields the WARC records of a collection; the filters are those of :func:`stream`.

    ``format`` is ``warc``, ``wet`` (texts) or ``wat`` (links). After a lost connection the stream resumes
    after the last complete record.
    """
    pairs = query_pairs(
        site=site, domain=domain, language=language, status=status, mime_type=mime_type, since=since, before=before, where=where,
        order=order, shard=shard, limit=limit,
    )
    pairs.extend([("format", format)] + ([("after", after)] if after else []) + ([("verify", "1")] if verify else []))
    byte_offset, breaks, has_begun = 0, 0, False
    while True:
        query = pairs + ([("byte_offset", str(byte_offset))] if byte_offset else []) + ([("snapshot", snapshot)] if snapshot else [])
        try:
            with Response(url, query, Access(token, ca_file)) as response:
                snapshot, has_begun = response.snapshot or snapshot, True
                for length, member in _members(response):
                    record = _parse(member)
                    byte_offset, breaks = byte_offset + length, 0
                    yield record
            return
        except Broken as broken:
            breaks = pause(url, breaks, broken, has_begun)


def _members(response: Response) -> Iterator[Tuple[int, bytes]]:
    """Yields gzip members: compressed length and decompressed data."""
    out: List[bytes] = []
    inflate, length = zlib.decompressobj(31), 0
    chunk = response.read(_CHUNK_BYTES)
    while chunk:
        out.append(inflate.decompress(chunk))
        length += len(chunk) - len(inflate.unused_data)
        chunk = inflate.unused_data
        if inflate.eof:
            yield length, b"".join(out)
            inflate, length, out = zlib.decompressobj(31), 0, []
        if not chunk:
            chunk = response.read(_CHUNK_BYTES)
    if length:
        raise Broken("incomplete last record")


def _parse(member: bytes) -> Record:
    head, _, rest = member.partition(b"\r\n\r\n")
    lines: List[str] = head.decode("utf-8", "replace").split("\r\n")
    fields = {}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        fields[name.strip()] = value.strip()
    length = int(fields.get("Content-Length", "0"))
    return Record(fields, rest[:length])
