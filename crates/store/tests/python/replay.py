"""Replays pages from WARC files and their CDXJ, or from a WACZ file, with pywb, and compares them with what they should be.

    replay.py PAGES WORK

PAGES holds *.warc.gz and *.cdxj, or is a WACZ file. WORK holds pages.tsv (a timestamp and a URL per line) and the bodies, 0.body and so
on; a collection of links to PAGES is made there.
"""

import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

START_LIMIT_SECONDS = 60


def make_collection(pages, work):
    if pages.suffix == ".wacz":
        manager = Path(sys.executable).parent / "wb-manager"
        for arguments in (["init", "pages"], ["add", "--unpack-wacz", "pages", pages]):
            subprocess.run([manager, *arguments], cwd=work, check=True, stdout=subprocess.DEVNULL)
        return
    for kind, pattern in [("archive", "*.warc.gz"), ("indexes", "*.cdxj")]:
        folder = work / "collections" / "pages" / kind
        folder.mkdir(parents=True)
        for path in pages.glob(pattern):
            (folder / path.name).symlink_to(path)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port, server):
    started = time.monotonic()
    while time.monotonic() - started < START_LIMIT_SECONDS:
        if server.poll() is not None:
            sys.exit("wayback has ended: " + (server.log.read_text(errors="replace")))
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.1)
    sys.exit("wayback does not answer")


def replay(port, work):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    lines = (work / "pages.tsv").read_text().splitlines()
    for number, line in enumerate(lines):
        timestamp, url = line.split("\t")
        expected = (work / f"{number}.body").read_bytes()
        address = f"http://127.0.0.1:{port}/pages/{timestamp}id_/{url}"
        with opener.open(address, timeout=30) as response:
            found = response.read()
        if found != expected:
            sys.exit(f"{address}: {len(found)} bytes {found[:80]!r}, expected {len(expected)} {expected[:80]!r}")
    print(f"{len(lines)} pages replayed")


def main():
    pages, work = Path(sys.argv[1]), Path(sys.argv[2])
    make_collection(pages, work)
    port = free_port()
    wayback = Path(sys.executable).parent / "wayback"
    log = work / "wayback.log"
    with open(log, "wb") as out:
        command = [wayback, "-b", "127.0.0.1", "-p", str(port), "-d", work]
        server = subprocess.Popen(command, stdout=out, stderr=out)
        server.log = log
        try:
            wait_for(port, server)
            replay(port, work)
        except urllib.error.URLError as error:
            sys.exit(f"{error}: {log.read_text(errors='replace')}")
        finally:
            server.kill()
            server.wait()


main()
