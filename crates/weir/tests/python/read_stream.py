"""Reads a stream with every function of the Python package, and with other WARC libraries.

    read_stream.py URL PAGES PROGRAM DIRECTORY
"""

import gzip
import io
import sys
import tempfile
import urllib.request

import fastwarc.warc
import pyarrow
import warcio.archiveiterator

import weir


class Count(weir.Handler):
    """Counts pages and the words of their titles."""

    columns = ("url", "title")

    def __init__(self, fails=None):
        self.urls, self.words, self.calls, self.fails, self.failed = [], 0, [], fails, 0

    def init(self):
        self.calls.append("init")

    def process(self, page):
        if self.fails and len(self.urls) == 3 and self.failed < 2:
            self.failed += 1
            raise self.fails("not now")
        self.urls.append(page.url)
        self.words += len((page.title or "").split())

    def finish(self):
        self.calls.append("finish")

    def merge(self, other):
        self.urls += other.urls
        self.words += other.words


def main(url, pages, program, directory):
    rows = list(weir.stream(url))
    assert len(rows) == pages, len(rows)
    assert rows[0].title and rows[0].text and rows[0].status == 200 and rows[0].fetch_time, rows[0]
    urls = sorted(page.url for page in rows)

    # Shards, cursors, columns.
    parts = [page.url for number in (1, 2, 3) for page in weir.stream(url, shard=f"{number}/3", columns=["url"])]
    assert sorted(parts) == urls
    rest = list(weir.stream(url, after=rows[2].cursor))
    assert rest == rows[3:]
    assert len(list(weir.stream(url, limit=2))) == 2
    assert [page.status for page in weir.stream(url, where="status <> 200")] == [404]
    assert len(list(weir.records(url, where="host like 'a.%'"))) == 3
    body = next(weir.stream(url, columns=["body", "links"]))
    assert body.body.startswith(b"<html>") and body.title is None
    try:
        next(weir.stream(url, site="nowhere.test"))
        raise AssertionError("a site that is not there")
    except weir.StreamError as error:
        assert "no site `nowhere.test`" in str(error), error

    # WARC records: with this package and with other libraries.
    records = list(weir.records(url))
    assert sorted(record.url for record in records) == urls
    assert any(record.kind == "response" and record.http()[1].startswith(b"<html>") for record in records)
    raw = urllib.request.urlopen(url + "stream").read()
    own = [record.rec_headers["WARC-Target-URI"] for record in warcio.archiveiterator.ArchiveIterator(io.BytesIO(raw))]
    assert sorted(own) == urls
    fast = [record.headers["WARC-Target-URI"] for record in fastwarc.warc.ArchiveIterator(io.BytesIO(raw))]
    assert sorted(fast) == urls
    assert gzip.decompress(raw).count(b"WARC-Target-URI") >= pages
    wet = [record.rec_type for record in warcio.archiveiterator.ArchiveIterator(
        io.BytesIO(urllib.request.urlopen(url + "stream?format=wet").read()))]
    assert wet and set(wet) == {"conversion"}, wet

    # Handlers: recoverable and fatal errors, several processes, a resumed run.
    good, patient, fatal = Count(), Count(weir.Recoverable), Count(weir.Fatal)
    summary = weir.run(url, [good, patient, fatal])
    assert good.urls == patient.urls and len(good.urls) == pages and patient.failed == 2
    assert len(fatal.urls) == 3 and [stopped.error for stopped in summary.stopped] == ["not now"]
    assert good.calls == ["init", "finish"] and fatal.calls == ["init"]
    shared = Count()
    assert weir.run(url, [shared], shards=2).pages == pages
    assert sorted(shared.urls) == urls and shared.words == good.words
    with tempfile.TemporaryDirectory() as dir:
        first, second = Count(), Count()
        weir.run(url, [first], checkpoint=dir + "/cursor", limit=2)
        weir.run(url, [second], checkpoint=dir + "/cursor")
        assert first.urls + second.urls == good.urls

    # Tables.
    table = weir.table(url, columns=["url", "status", "links"])
    assert table.num_rows == pages and table.schema.field("status").type == pyarrow.uint16()

    # The directory itself, without a server of the user.
    with weir.open(directory, program=program) as collection:
        assert collection.status()["pages_fetched"] > 0
        assert sorted(page.url for page in collection.stream()) == urls
        assert collection.why(urls[0])["stage"] == "fetched"
        server = collection.url
        try:
            collection.pause()
            raise AssertionError("no crawl runs")
        except weir.StreamError as error:
            assert "HTTP 409" in str(error), error
    try:
        weir.open(server).status()
        raise AssertionError("the server ends with the collection")
    except weir.StreamError as error:
        assert "connection refused" in str(error), error
    print(f"{pages} pages")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
