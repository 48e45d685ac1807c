"""Commands of the crawlers: each with the options that cost the least CPU of those that were tried, without delays, and
obeying robots.txt."""

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

HERE = Path(__file__).resolve().parent
# Links are matched with their fragment, so it must be allowed: otherwise most pages are missed. wget2 also matches the names
# of its files, and deletes those that do not match, so the pattern cannot start with the host; neither program leaves the
# hosts of the seeds.
PAGE_PATTERN = r"^[^?#]*(/|\.html?)(#.*)?$"
WGET_OPTIONS = ["--recursive", "--level=inf", f"--accept-regex={PAGE_PATTERN}", "--no-hsts"]


@dataclass
class Crawler:
    name: str
    keeps: str
    # Function from the target and an empty directory to the command.
    command: Callable
    version: Callable


@dataclass
class Target:
    work: Path
    seeds: Path
    hosts: list
    weir: Path


def wget2(target, folder):
    # Without --filter-urls it requests everything and then discards pages that do not match. More than two threads cost more CPU.
    return ["wget2", "-q", *WGET_OPTIONS, "--filter-urls", "--max-threads=2", f"--input-file={target.seeds}"]


def wget(target, folder):
    # It parses files that it has written; they are deleted after parsing, the WARC file is kept.
    return ["wget", "-q", *WGET_OPTIONS, "--delete-after", "--warc-file=pages", f"--input-file={target.seeds}"]


def spider(target, folder):
    return [target.work / "spider-peer/spider-peer", target.seeds, folder, "4", "16"]


def scrapy(target, folder):
    program = target.work / "venv/bin/scrapy"
    arguments = ["-a", f"seeds={target.seeds}", "-a", f"warc={folder}/pages.warc.gz"]
    return [program, "runspider", HERE / "scrapy_peer.py", *arguments]


# Differences from the defaults: no delays, loopback allowed and named, and no limits that the peers do not have (depth, page
# size, number of links), because all crawlers should find the same pages. Queries are out of scope for all.
WEIR_SETTINGS = """\
[scope]
accept = [".test"]
reject = ["?"]
follow_duplicates = true

[politeness]
delay = "0s"
large_site_delay = "0s"
ip_delay = "0s"

[limits]
max_depth_static = 255

[fetch]
max_body_size = "50 MB"
mime_types = ["text/html"]

[parse]
max_links = 1_000_000

[network]
allowed_networks = ["127.0.0.0/8"]

[dns.hosts]
"""


def weir(target, folder):
    collection = folder / "collection"
    init = [target.weir, "init", collection, "--seeds", target.seeds, "--accept", ".test"]
    subprocess.run(init, check=True, stdout=subprocess.DEVNULL)
    hosts = "".join(f"{json.dumps(host.name)} = {json.dumps(host.address)}\n" for host in target.hosts)
    (collection / "weir.toml").write_text(WEIR_SETTINGS + hosts)
    return [target.weir, "crawl", collection, "--json"]


def first_line(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]


def spider_version(target):
    lock = (target.work / "spider-peer/Cargo.lock").read_text()
    return "spider " + lock.split('name = "spider"\nversion = "')[1].split('"')[0]


CRAWLERS = [
    Crawler("wget2", "files", wget2, lambda _: first_line("wget2", "--version")),
    Crawler("wget", "WARC, gzip", wget, lambda _: first_line("wget", "--version")),
    Crawler("spider", "WARC, plain", spider, spider_version),
    Crawler("scrapy", "WARC, gzip", scrapy, lambda target: first_line(target.work / "venv/bin/scrapy", "version")),
    Crawler("weir", "WARC, gzip; tables, links", weir, lambda target: first_line(target.weir, "--version")),
]


def empty_folder(work, name):
    folder = work / "out" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
