"""Ground truth: pages found by a breadth-first walk over the files from the front pages, along the links of `a`,
`area`, `frame` and `iframe`, read by a parser that is none of the crawlers' own (libxml2).

In scope are the hosts of the set, paths that end in `/`, `.html` or `.htm`, and no queries. A page is written as
`host/path`, in one spelling."""

import hashlib
import pickle
import re
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote, urldefrag, urljoin, urlsplit

import lxml.etree
import lxml.html

IN_SCOPE = re.compile(r"^http://[a-z0-9-]+\.test(:80)?/([^?#]*/)?([^/?#]*\.html?)?$")
LINKS = "//a/@href | //area/@href | //frame/@src | //iframe/@src"
DIRECTIVES = "//meta[translate(@name, 'ROBTS', 'robts') = 'robots']/@content"


@dataclass
class Page:
    digest: bytes
    # Links to existing pages.
    links: set
    nofollow: bool


def page_name(host, path):
    """Returns the normalised name of a page, independent of the escaping of its path."""
    path = quote(unquote(path, errors="surrogateescape"), safe="/", errors="surrogateescape")
    return sys.intern(host + path)


class Truth:
    def __init__(self, hosts):
        self.hosts = {host.name: host for host in hosts}
        self.seeds = {page_name(host.name, "/") for host in hosts}
        self.pages = {}
        waiting = sorted(self.seeds)
        seen = set(waiting)
        for page in waiting:
            self.pages[page] = self.read(page)
            new = self.pages[page].links - seen
            seen |= new
            waiting += sorted(new)
        self.reachable = set(self.pages)

    def file(self, page):
        host, slash, path = page.partition("/")
        return self.hosts[host].file(unquote(slash + path, errors="surrogateescape")) if host in self.hosts else None

    def read(self, page):
        content = Path(self.file(page)).read_bytes()
        digest = hashlib.sha256(content).digest()
        try:
            tree = lxml.html.fromstring(content)
        except (lxml.etree.ParserError, ValueError):
            return Page(digest, set(), False)
        base = "http://" + page
        for href in tree.xpath("//base/@href")[:1]:
            base = urljoin(base, href)
        links = {target for link in tree.xpath(LINKS) if (target := self.target(base, link))}
        directives = {word.strip() for content in tree.xpath(DIRECTIVES) for word in content.lower().split(",")}
        return Page(digest, links, bool(directives & {"nofollow", "none"}))

    def target(self, base, link):
        """Returns the target page of a link, if it exists and is in scope."""
        try:
            url = urldefrag(urljoin(base, link.strip()))[0]
        except ValueError:
            return None
        if not IN_SCOPE.match(url):
            return None
        page = page_name(urlsplit(url).hostname, urlsplit(url).path)
        return page if self.file(page) else None

    def unexplained(self, found):
        """Returns pages that are missing from `found` without a reason.

        A careful crawler does not follow the links of a page marked `nofollow`, and of pages that are equal byte for
        byte it follows those of one only, whichever came first. So for each different content at least one page must
        have all its targets among those found."""
        missing = defaultdict(list)
        for name in found:
            page = self.pages.get(name) or (self.read(name) if self.file(name) else None)
            if page and not page.nofollow:
                missing[page.digest].append(page.links - found)
        return (self.seeds - found).union(*(min(copies, key=len) for copies in missing.values()))


def load(file, hosts):
    """Loads the ground truth of the last walk, or computes it."""
    if file.exists():
        return pickle.loads(file.read_bytes())
    print("walking over the files", flush=True)
    truth = Truth(hosts)
    file.write_bytes(pickle.dumps(truth))
    return truth
