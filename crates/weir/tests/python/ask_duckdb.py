"""Asks DuckDB the queries of a file and compares its answers with those in the file.

    ask_duckdb.py ANSWERS

ANSWERS is JSON: the folder of a collection, and queries with the rows that weir found.
"""

import datetime
import json
import math
import sys
from decimal import Decimal
from pathlib import Path

import duckdb

# Sums of floats depend on the order in which they are added.
TOLERANCE = 1e-5


def plain(value):
    """A value as JSON would have it."""
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
    asked = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    connection = duckdb.connect()
    connection.execute("set timezone = 'UTC'")
    for table in sorted(Path(asked["folder"], "parquet").iterdir()):
        if any(table.glob("*.parquet")):
            connection.execute(f"create view {table.name} as from '{table}/*.parquet'")
    for answer in asked["answers"]:
        found = connection.execute(answer["query"])
        names = [column[0] for column in found.description]
        rows = [[plain(value) for value in row] for row in found.fetchall()]
        expected = [[row[name] for name in names] for row in answer["rows"]]
        if len(rows) != len(expected):
            sys.exit(f"{answer['question']}: {len(rows)} rows, weir has {len(expected)}")
        for row, ours in zip(rows, expected):
            if not all(same(one, other) for one, other in zip(row, ours)):
                sys.exit(f"{answer['question']}: {row}, weir has {ours}")
    print(f"{len(asked['answers'])} answers are the same")


main()
