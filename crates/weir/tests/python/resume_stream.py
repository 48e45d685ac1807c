"""Reads a stream and stops twice, so that the test can kill the server meanwhile; prints the pages received.

    resume_stream.py CLIENT URL
"""

import json
import sys

import weir


def pages(client, url):
    if client == "stream":
        for page in weir.stream(url, columns=["page_id", "body"]):
            yield page.page_id
    elif client == "records":
        for record in weir.records(url, verify=True):
            yield record.url
    else:
        for batch in weir.flight(url, columns=["page_id", "body"]):
            yield from batch.column("page_id").to_pylist()


def main(client, url):
    seen = []
    for page in pages(client, url):
        seen.append(page)
        if len(seen) in (5, 150):
            print("stopped", flush=True)
            sys.stdin.readline()
    print(json.dumps(seen))


if __name__ == "__main__":
    main(*sys.argv[1:])
