"""Prints the results of DuckDB queries on the tables of the collection in the given directory."""

import sys

import duckdb


def table(name):
    return f"'{sys.argv[1]}/parquet/{name}/*.parquet'"


print(
    duckdb.sql(
        f"""select count(*), count(distinct source_page_id), count(target_page_id), sum(is_internal::int),
        min(target_url), max(anchor), epoch_ms(min(fetch_time)) from {table('links')}"""
    ).fetchall()[0]
)
print(duckdb.sql(f"select site, robots_status, bytes_received, url_host_registered_domain from {table('site_log')}").fetchall()[0])
