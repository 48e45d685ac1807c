"""The anchor-text index of section 4.2 of the WebBase paper, in one process per core.

    python anchor_index.py http://127.0.0.1:9347/ > anchors.tsv
"""

import os
import re
import sys

import weir


class AnchorText(weir.Handler):
    """Collects the anchor-text words of the links to each page."""

    columns = ("links",)

    def __init__(self):
        self.words = {}

    def process(self, page):
        for link in page.links:
            for word in re.findall(r"\w+", link.anchor.lower()):
                self.words.setdefault(link.url, set()).add(word)

    def merge(self, other):
        for url, words in other.words.items():
            self.words.setdefault(url, set()).update(words)


if __name__ == "__main__":
    anchors = AnchorText()
    weir.run(sys.argv[1], [anchors], shards=os.cpu_count() or 1)
    for url in sorted(anchors.words):
        print(url, " ".join(sorted(anchors.words[url])), sep="\t")
