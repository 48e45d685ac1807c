"""Tests against a stub server; run with `python -m unittest discover python/tests`."""

import gzip
import threading
import unittest
from concurrent.futures import Future
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import weir
import weir._handler
import weir._stream


def rows(first, last):
    return b"".join(
        b'{"url": "http://a/%d", "page_id": %d, "cursor": "7.0.%d"}\n' % (n, n, n) for n in range(first, last)
    )


class Server(BaseHTTPRequestHandler):
    """Sends ten rows; the first response ends within the fifth."""

    protocol_version = "HTTP/1.1"
    queries = []

    def do_GET(self):
        self.queries.append(self.path)
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Weir-Snapshot", "7")
        self.end_headers()
        if "format=warc" in self.path:
            record = lambda n: gzip.compress(
                b"WARC/1.1\r\nWARC-Type: resource\r\nWARC-Target-URI: http://a/%d\r\nContent-Length: 4\r\n\r\ntext\r\n\r\n" % n,
                mtime=0,
            )
            whole = b"".join(record(n) for n in range(10))
            skip = int(self.path.partition("byte_offset=")[2].partition("&")[0] or 0)
            content = whole[skip:]
            cut = len(whole) // 2 if not skip else None
        else:
            first = int(self.path.rpartition("7.0.")[2].partition("&")[0]) + 1 if "7.0." in self.path else 0
            content = rows(first, 10)
            cut = len(rows(0, 5)) - 9 if not first else None
        piece = content[:cut]
        self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        if cut is None:
            self.wfile.write(b"0\r\n\r\n")
        self.close_connection = True

    def log_message(self, *_):
        pass


class Fails(weir.Handler):
    def process(self, page):
        1 / 0


class Counts(weir.Handler):
    def __init__(self, pages=0):
        self.pages = pages

    def process(self, page):
        self.pages += 1


class Streams(unittest.TestCase):
    def setUp(self):
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        Server.queries.clear()
        weir._stream.INITIAL_BACK_OFF = 0.001

    def tearDown(self):
        self.server.shutdown()
        self.server.server_close()

    def test_an_interrupted_stream_resumes_after_the_last_page(self):
        pages = list(weir.stream(self.url, site=["a", "b"], status=200, columns=["url", "page_id"]))
        self.assertEqual([page.page_id for page in pages], list(range(10)))
        self.assertEqual(len(Server.queries), 2)
        self.assertIn("/stream?site=a&site=b&status=200&format=jsonl&columns=url%2Cpage_id%2Ccursor", Server.queries[0])
        self.assertTrue(Server.queries[1].endswith("&after=7.0.3"), Server.queries)

    def test_interrupted_records_resume_after_the_last_complete_one(self):
        records = list(weir.records(self.url))
        self.assertEqual([record.url for record in records], [f"http://a/{n}" for n in range(10)])
        self.assertEqual({record.block for record in records}, {b"text"})
        self.assertIn("snapshot=7", Server.queries[1])

    def test_a_refused_connection_is_an_error_at_once(self):
        weir._stream.INITIAL_BACK_OFF = 1000
        with self.assertRaisesRegex(weir.StreamError, "connection refused; is `weir serve` running"):
            list(weir.stream("http://127.0.0.1:1/"))
        with self.assertRaisesRegex(weir.StreamError, "connection refused"):
            weir.open("http://127.0.0.1:1/").status()
        with self.assertRaises(weir.StreamError):
            list(weir.stream("nonsense"))

    def test_an_exception_of_one_handler_does_not_stop_the_others(self):
        fails, counts = Fails(), Counts()
        summary = weir.run(self.url, [fails, counts])
        self.assertEqual((summary.pages, counts.pages), (10, 10))
        self.assertEqual([(stop.name, stop.error) for stop in summary.stopped], [("Fails", "ZeroDivisionError: division by zero")])

    def test_a_failed_shard_does_not_lose_the_others(self):
        futures = [Future(), Future()]
        futures[0].set_exception(weir.StreamError("lost"))
        futures[1].set_result((weir.Summary(pages=3), [Counts(3)]))
        counts = Counts()
        summary = weir._handler._merge([counts], futures, [future.exception() for future in futures])
        self.assertEqual((summary.pages, counts.pages), (3, 3))
        self.assertEqual([(stop.name, stop.error) for stop in summary.stopped], [("shard 1/2", "StreamError: lost")])

    def test_a_program_that_is_missing_is_an_error(self):
        with self.assertRaisesRegex(weir.StreamError, "install weir, or pass its path"):
            weir.open(".", program="no-such-program")


if __name__ == "__main__":
    unittest.main()
