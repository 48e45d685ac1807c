#!/usr/bin/env python3
"""Ranking quality of Weir, bm25s and tantivy's defaults on the same documents and queries.

    python3 -m venv target/search-peers && target/search-peers/bin/pip install -r bench/search/requirements.txt
    target/search-peers/bin/python bench/search/evaluate.py [--weir target/release/weir] [--data ../shared/data/search] [--corpus target/corpus]

CACM and Cranfield: mean average precision and precision at 10, depth 1,000, of the topics as plain text. Documentation: queries of
documentation.tsv on the pages of the corpus of `bench`; the right page first, and among the first three. Without --weir only the peers run.
"""

import argparse
import collections
import gzip
import html.parser
import json
import pathlib
import re
import subprocess
import tarfile
import tempfile
import uuid

import bm25s
import Stemmer
import tantivy

DEPTH = 1000
HERE = pathlib.Path(__file__).resolve().parent


def element(text, name):
    found = re.search(f"<{name}>(.*?)</{name}>", text, re.S)
    return found.group(1) if found else ""


def judgements(path):
    relevant = collections.defaultdict(set)
    for line in open(path):
        topic, _, document, grade = line.split()
        if int(grade) >= 1:
            relevant[int(topic)].add(document)
    return relevant


def cacm(data):
    documents = {}
    archive = tarfile.open(data / "cacm.tar.gz")
    for member in archive:
        if member.isfile():
            text = archive.extractfile(member).read().decode("utf-8", "replace")
            documents[pathlib.Path(member.name).stem] = ("", re.sub(r"<[^>]+>", " ", text), text)
    topics = {}
    for part in open(data / "topics.cacm.txt").read().split("<DOCNO>")[1:]:
        number, words = part.split("</DOCNO>")
        topics[int(number)] = words.split("</DOC>")[0]
    return documents, topics, judgements(data / "qrels.cacm.txt")


def cranfield(data):
    """The judgements count the topics by their order in the file."""
    documents = {}
    for document in gzip.open(data / "cranfield.docs.xml.gz", "rt").read().split("<doc>")[1:]:
        title, text = element(document, "title"), element(document, "text")
        html_text = f"<html><title>{title}</title><body>{text}</body></html>"
        documents[element(document, "docno").strip()] = (title, text, html_text)
    parts = open(data / "topics.cranfield.xml").read().split("<top>")[1:]
    topics = {number: element(part, "title") for number, part in enumerate(parts, 1)}
    return documents, topics, judgements(data / "qrels.cranfield.txt")


class PageText(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.title, self.text, self.inside = [], [], []

    def handle_starttag(self, tag, attributes):
        if tag in ("script", "style", "title"):
            self.inside.append(tag)

    def handle_endtag(self, tag):
        if tag in self.inside:
            self.inside.remove(tag)

    def handle_data(self, data):
        if "title" in self.inside:
            self.title.append(data)
        elif not self.inside:
            self.text.append(data)


def documentation(corpus):
    """URL and HTML of each page, and the queries with their right pages."""
    pages = {}
    for package in sorted(path for path in corpus.iterdir() if path.is_dir()):
        for path in sorted(package.rglob("*")):
            if path.is_file() and not path.is_symlink() and path.name.endswith((".html", ".htm", ".html.gz")):
                body = gzip.open(path).read() if path.suffix == ".gz" else path.read_bytes()
                name = str(path.relative_to(package)).removesuffix(".gz")
                pages[f"https://{package.name.replace('.', '-')}.example.org/{name}"] = body
    queries = [line.rstrip("\n").split("\t") for line in open(HERE / "documentation.tsv")]
    return pages, [(query, right.split()) for query, right in queries]


def bm25s_search(documents):
    """Default parameters, English stop words and Snowball stems."""
    stemmer = Stemmer.Stemmer("english")
    names = list(documents)
    texts = [f"{title} {text}" for title, text, *_ in documents.values()]
    index = bm25s.BM25()
    index.index(bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False), show_progress=False)

    def search(query, limit):
        tokens = bm25s.tokenize(query, stopwords="en", stemmer=stemmer, show_progress=False)
        found, scores = index.retrieve(tokens, k=min(limit, len(names)), show_progress=False)
        return [names[number] for number, score in zip(found[0], scores[0]) if score > 0]

    return search


def tantivy_search(tokenizer):
    """Title and body fields, words joined by OR, as the query parser does by default."""

    def build(documents):
        schema = tantivy.SchemaBuilder()
        schema.add_text_field("name", stored=True, tokenizer_name="raw")
        schema.add_text_field("title", tokenizer_name=tokenizer)
        schema.add_text_field("body", tokenizer_name=tokenizer)
        index = tantivy.Index(schema.build())
        writer = index.writer(num_threads=1)
        for name, (title, text, *_) in documents.items():
            writer.add_document(tantivy.Document(name=name, title=title, body=text))
        writer.commit()
        writer.wait_merging_threads()
        index.reload()

        def search(query, limit):
            words = " ".join(re.findall(r"\w+", query.lower()))
            searcher = index.searcher()
            hits = searcher.search(index.parse_query(words, ["title", "body"]), limit).hits
            return [searcher.doc(address)["name"][0] for _, address in hits]

        return search

    return build


def weir_search(weir, mode, name_of_url=lambda url: url):
    def build(pages):
        directory = tempfile.mkdtemp(prefix="weir-search-")
        warc = pathlib.Path(directory) / "pages.warc.gz"
        write_warc(warc, pages)
        collection = f"{directory}/collection"
        for command in (["init", collection], ["import", collection, str(warc)], ["analyze", collection], ["index", collection]):
            subprocess.run([weir, *command], check=True, stdout=subprocess.DEVNULL)

        def search(query, limit):
            if mode == "any":
                arguments = ["--any", "--", query]
            else:
                arguments = ["--", query]
            command = [weir, "search", collection, "--json", "--limit", str(limit), "--show-duplicates", *arguments]
            found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            return [name_of_url(hit["url"]) for hit in found["hits"]]

        return search

    return build


def write_warc(path, pages):
    with gzip.open(path, "wb", 1) as out:
        for url, body in pages.items():
            body = body if isinstance(body, bytes) else body.encode()
            http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(body) + body
            head = (
                f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2026-01-01T00:00:00Z\r\n"
                f"WARC-Record-ID: <urn:uuid:{uuid.uuid4()}>\r\nContent-Type: application/http; msgtype=response\r\n"
                f"Content-Length: {len(http)}\r\n\r\n"
            )
            out.write(head.encode() + http + b"\r\n\r\n")


def average_precision(found, relevant):
    hits, total = 0, 0.0
    for rank, name in enumerate(found, 1):
        if name in relevant:
            hits += 1
            total += hits / rank
    return total / len(relevant)


def judged(search, topics, relevant):
    runs = {topic: search(topics[topic], DEPTH) for topic in relevant}
    precision = [average_precision(runs[topic], relevant[topic]) for topic in relevant]
    at_10 = [sum(name in relevant[topic] for name in runs[topic][:10]) / 10 for topic in relevant]
    return f"{sum(precision) / len(precision):.4f} / {sum(at_10) / len(at_10):.3f}"


def known_item(search, queries):
    first = third = 0
    for query, right in queries:
        found = search(query, 10)
        rank = next((rank for rank, url in enumerate(found, 1) if url.endswith(tuple(right))), 0)
        first += rank == 1
        third += 1 <= rank <= 3
    return f"{first} / {third} of {len(queries)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weir")
    parser.add_argument("--data", type=pathlib.Path, default=HERE.parents[2] / "shared/data/search")
    parser.add_argument("--corpus", type=pathlib.Path, default=HERE.parents[1] / "target/corpus")
    options = parser.parse_args()
    peers = {
        "bm25s (stems, stop words)": bm25s_search,
        "tantivy (default tokenizer)": tantivy_search("default"),
        "tantivy (en_stem)": tantivy_search("en_stem"),
    }
    sets = {"CACM": cacm(options.data), "Cranfield": cranfield(options.data)}
    rows = collections.defaultdict(list)
    for documents, topics, relevant in sets.values():
        for name, build in peers.items():
            rows[name].append(judged(build(documents), topics, relevant))
        if options.weir:
            pages = {f"http://set.test/{name}": parts[2] for name, parts in documents.items()}
            build = weir_search(options.weir, "any", lambda url: url.rsplit("/", 1)[1])
            rows["Weir, --any"].append(judged(build(pages), topics, relevant))
    pages, queries = documentation(options.corpus)
    texts = {}
    for url, body in pages.items():
        page = PageText()
        page.feed(body.decode("utf-8", "replace"))
        texts[url] = ("".join(page.title), " ".join(page.text))
    for name, build in peers.items():
        rows[name].append(known_item(build(texts), queries))
    if options.weir:
        rows["Weir, --any"].append(known_item(weir_search(options.weir, "any")(pages), queries))
        rows["Weir"] = ["", "", known_item(weir_search(options.weir, "all")(pages), queries)]
    print("| | CACM, MAP / P@10 | Cranfield, MAP / P@10 | documentation, first / in the first three |\n|---|---|---|---|")
    for name, cells in rows.items():
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
