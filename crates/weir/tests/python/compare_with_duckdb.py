"""Runs the queries of a file in DuckDB and compares the rows with those in the file.

    compare_with_duckdb.py RESULTS

RESULTS is JSON: the directory of a collection, and queries with the rows that weir returned.
"""

import datetime
import json
import math
import sys
from decimal import Decimal
from pathlib import Path

import duckdb

# Sums of floats depend on the order of the summands.
TOLERANCE = 1e-5


def plain(value):
    """Value as in JSON."""
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.timezone.utc).isoformat().replace("+00:00", "Z")
    if isinstance(value, Decimal):
        return float(value)
    return value


def same(one, other):
    numbers = (int, float)
    if isinstance(one, numbers) and isinstance(other, numbers):
        return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=1e-12)
    return one == other


def main():
    content = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    connection = duckdb.connect()
    connection.execute("set timezone = 'UTC'")
    for table in sorted(Path(content["collection"], "parquet").iterdir()):
        if any(table.glob("*.parquet")):
            connection.execute(f"create view {table.name} as from '{table}/*.parquet'")
    for result in content["results"]:
        cursor = connection.execute(result["query"])
        names = [column[0] for column in cursor.description]
        rows = [[plain(value) for value in row] for row in cursor.fetchall()]
        expected = [[row[name] for name in names] for row in result["rows"]]
        if len(rows) != len(expected):
            sys.exit(f"{result['title']}: {len(rows)} rows, weir returned {len(expected)}")
        for row, ours in zip(rows, expected):
            if not all(same(one, other) for one, other in zip(row, ours)):
                sys.exit(f"{result['title']}: {row}, weir returned {ours}")
    print(f"{len(content['results'])} results are the same")


main()
