"""Reads a stream, and stops twice on its way, so that somebody can kill the server meanwhile; tells which pages came.

    resume_stream.py WAY URL
"""

import json
import sys

import weir


def pages(way, url):
    if way == "stream":
        for page in weir.stream(url, columns=["page_id", "body"]):
            yield page.page_id
    elif way == "records":
        for record in weir.records(url, verify=True):
            yield record.url
    else:
        for batch in weir.flight(url, columns=["page_id", "body"]):
            yield from batch.column("page_id").to_pylist()


def main(way, url):
    seen = []
    for page in pages(way, url):
        seen.append(page)
        if len(seen) in (5, 150):
            print("stopped", flush=True)
            sys.stdin.readline()
    print(json.dumps(seen))


if __name__ == "__main__":
    main(*sys.argv[1:])
