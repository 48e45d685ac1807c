"""Pages as tables of pyarrow, and so of pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, List, Sequence

from ._page import Page
from ._stream import stream

if TYPE_CHECKING:
    import pyarrow  # type: ignore[import-untyped]

#: What a row has if nothing is asked for.
COLUMNS = ("url", "page_id", "time", "status", "mime", "language", "title", "text", "position")


def batches(url: str, *, rows: int = 1000, columns: Sequence[str] = COLUMNS, **conditions: Any) -> "Iterator[pyarrow.RecordBatch]":
    """Gives the pages in batches of so many rows; the conditions are those of :func:`weir.stream`."""
    pyarrow = _pyarrow()
    schema = pyarrow.schema([(name, _type(pyarrow, name)) for name in columns])
    pending: List[Page] = []

    def batch() -> "pyarrow.RecordBatch":
        arrays = [pyarrow.array([_cell(page, name) for page in pending], type=schema.field(name).type) for name in columns]
        pending.clear()
        return pyarrow.RecordBatch.from_arrays(arrays, schema=schema)

    for page in stream(url, columns=columns, **conditions):
        pending.append(page)
        if len(pending) >= rows:
            yield batch()
    if pending:
        yield batch()


def table(url: str, *, columns: Sequence[str] = COLUMNS, **conditions: Any) -> "pyarrow.Table":
    """All of them as one table: ``weir.table(url, max=1000).to_pandas()``. It must fit into memory."""
    pyarrow = _pyarrow()
    schema = pyarrow.schema([(name, _type(pyarrow, name)) for name in columns])
    return pyarrow.Table.from_batches(batches(url, columns=columns, **conditions), schema=schema)


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
        fields = [(part, pyarrow.string()) for part in ("url", "text", "kind", "rel")]
        return pyarrow.list_(pyarrow.struct(fields))
    return pyarrow.string()


def _cell(page: Page, name: str) -> Any:
    value = getattr(page, name)
    return [vars(link) for link in value] if name == "links" else value
