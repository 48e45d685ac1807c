"""Crawler with Scrapy: its link extractor and scheduler in breadth-first order, and warcio to store the pages.

Usage: scrapy runspider scrapy_peer.py -a seeds=FILE -a warc=FILE"""

import io
from pathlib import Path

import scrapy
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

# Matched with the fragment, so it must be allowed.
PAGE_PATTERN = r"^http://[a-z0-9-]+\.test/([^?#]*/)?([^/?#]*\.html?)?(#.*)?$"


class Peer(scrapy.Spider):
    name = "peer"
    allowed_domains = ["test"]
    links = LinkExtractor(allow=PAGE_PATTERN, tags=("a", "area", "frame", "iframe"), attrs=("href", "src"))
    custom_settings = {
        "USER_AGENT": "scrapy-peer",
        "ROBOTSTXT_OBEY": True,
        "DOWNLOAD_DELAY": 0,
        "CONCURRENT_REQUESTS": 64,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "COOKIES_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "INFO",
        "DEPTH_PRIORITY": 1,
        "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
        "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
    }

    def __init__(self, seeds, warc, **arguments):
        super().__init__(**arguments)
        self.start_urls = Path(seeds).read_text().split()
        self.file = open(warc, "wb")
        self.warc = WARCWriter(self.file, gzip=True)

    def parse(self, response):
        self.keep(response)
        if isinstance(response, HtmlResponse):
            for link in self.links.extract_links(response):
                yield response.follow(link, self.parse)

    def keep(self, response):
        pairs = [(name, value) for name, values in response.headers.items() for value in values]
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in pairs]
        head = StatusAndHeaders(f"{response.status} OK", headers, protocol="HTTP/1.1")
        body = io.BytesIO(response.body)
        self.warc.write_record(self.warc.create_warc_record(response.url, "response", payload=body, http_headers=head))

    def closed(self, reason):
        self.file.close()
