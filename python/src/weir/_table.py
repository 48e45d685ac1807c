"""Pages as pyarrow tables and record batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, List, Sequence

from ._page import Page
from ._stream import stream

if TYPE_CHECKING:
    import pyarrow  # type: ignore[import-untyped]

#: Default columns.
COLUMNS = ("url", "page_id", "fetch_time", "status", "mime_type", "language", "title", "text", "cursor")


def batches(url: str, *, rows: int = 1000, columns: Sequence[str] = COLUMNS, **filters: Any) -> "Iterator[pyarrow.RecordBatch]":
    """Yields the pages in batches of ``rows`` rows; the filters are those of :func:`weir.stream`."""
    pyarrow = _pyarrow()
    schema = pyarrow.schema([(name, _type(pyarrow, name)) for name in columns])
    pending: List[Page] = []

    def batch() -> "pyarrow.RecordBatch":
        arrays = [pyarrow.array([_cell(page, name) for page in pending], type=schema.field(name).type) for name in columns]
        pending.clear()
        return pyarrow.RecordBatch.from_arrays(arrays, schema=schema)

    for page in stream(url, columns=columns, **filters):
        pending.append(page)
        if len(pending) >= rows:
            yield batch()
    if pending:
        yield batch()


def table(url: str, *, columns: Sequence[str] = COLUMNS, **filters: Any) -> "pyarrow.Table":
    """Returns the pages as one table: ``weir.table(url, limit=1000).to_pandas()``. The table must fit into memory."""
    pyarrow = _pyarrow()
    schema = pyarrow.schema([(name, _type(pyarrow, name)) for name in columns])
    return pyarrow.Table.from_batches(batches(url, columns=columns, **filters), schema=schema)


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError("tables need pyarrow: pip install pyarrow") from error
    return pyarrow


def _type(pyarrow: Any, name: str) -> Any:
    if name == "page_id":
        return pyarrow.uint32()
    if name == "status":
        return pyarrow.uint16()
    if name == "body":
        return pyarrow.binary()
    if name == "links":
        fields = [(part, pyarrow.string()) for part in ("url", "anchor", "kind", "rel")]
        return pyarrow.list_(pyarrow.struct(fields))
    return pyarrow.string()


def _cell(page: Page, name: str) -> Any:
    value = getattr(page, name)
    return [vars(link) for link in value] if name == "links" else value
