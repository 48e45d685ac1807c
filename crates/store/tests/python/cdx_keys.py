"""Prints the URLs of a table with the keys that the surt package makes of them.

    cdx_keys.py TABLE
"""

import sys

import surt

with open(sys.argv[1], encoding="utf-8") as table:
    for line in table:
        url = line.split("\t")[0]
        print(url, surt.surt(url), sep="\t")
