"""What did one crawl cost, and what did it find? The cost is that of the crawler's processes alone, as the kernel counts
it; what was fetched is told by the server's log, never by the crawler."""

import os
import signal
import subprocess
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

from truth import spelled

# Whoever takes longer is stopped, and the row says so.
MOST_SECONDS = 3600
# Longer than nginx holds back lines of its log.
LOG_REST_SECONDS = 1.5


@dataclass
class Cost:
    wall_s: float
    cpu_s: float
    peak_mb: float
    server_cpu_s: float
    # Of all processes but these two, in the same time: what the machine did besides.
    other_cpu_s: float
    exit_code: int
    stopped: bool


@dataclass
class Visits:
    requests: int
    # Different pages that were answered with 200 and HTML.
    pages: int
    # Answers with such a page that had been sent before.
    again: int
    other_answers: dict
    mb: float


def run(command, folder, server, log):
    """Runs a crawler in `folder` until it ends; its words go to `log`."""
    os.sync()
    # GNU time starts the crawler from a process so small that the peak is the crawler's own.
    figures = Path(f"{log}.time")
    timed = ["/usr/bin/time", "-q", "-o", figures, "-f", "%U %S %M", *command]
    before, server_before, start = busy_seconds(), server.cpu_seconds(), time.monotonic()
    with open(log, "wb") as words:
        child = subprocess.Popen(
            timed, cwd=folder, stdin=subprocess.DEVNULL, stdout=words, stderr=words, start_new_session=True,
            env={**os.environ, "HOME": str(folder)},
        )
        stopped = not ends_in_time(child)
    wall_s = time.monotonic() - start
    busy_s, server_s = busy_seconds() - before, server.cpu_seconds() - server_before
    user_s, system_s, peak_kb = figures.read_text().splitlines()[-1].split()
    cpu_s = float(user_s) + float(system_s)
    return Cost(wall_s, cpu_s, int(peak_kb) / 1024, server_s, busy_s - server_s - cpu_s, child.returncode, stopped)


def ends_in_time(child):
    try:
        child.wait(MOST_SECONDS)
        return True
    except subprocess.TimeoutExpired:
        return False
    finally:
        # Too slow, or whoever started all this has had enough.
        stop(child)


def stop(child):
    """Ends the crawler, by force if need be, and not `time`, which tells what the crawler took until then."""
    for sign in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        if child.poll() is not None:
            return
        for pid in Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split():
            os.kill(int(pid), sign)
        try:
            child.wait(10)
        except subprocess.TimeoutExpired:
            continue


def busy_seconds():
    """CPU time of the whole machine since it started, without idling and waiting for disks."""
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, Path("/proc/stat").read_text().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


class Log:
    """The server's log of visits; each crawl reads on from where the one before ended."""

    def __init__(self, file):
        self.file = file
        self.at = 0

    def skip(self):
        time.sleep(LOG_REST_SECONDS)
        self.at = self.file.stat().st_size

    def read(self):
        """The visits since the last `skip` or `read`, and the pages that were sent."""
        time.sleep(LOG_REST_SECONDS)
        with open(self.file, errors="surrogateescape") as log:
            log.seek(self.at)
            lines = log.readlines()
            self.at = log.tell()
        sent, others, size = Counter(), Counter(), 0
        for line in lines:
            method, status, body_bytes, host, path, media_type = line.rstrip("\n").split("\t")
            size += int(body_bytes)
            if method == "GET" and status == "200" and media_type.startswith("text/html"):
                sent[spelled(host, path)] += 1
            elif path != "/robots.txt":
                others[f"{method} {status}"] += 1
        pages = set(sent)
        again = sent.total() - len(pages)
        return Visits(len(lines), len(pages), again, dict(others), size / 1e6), pages


def size_mb(folder):
    """What the crawler left on the disk."""
    files = (file for file in folder.rglob("*") if file.is_file() and not file.is_symlink())
    return sum(file.stat().st_size for file in files) / 1e6


def row(cost, visits, kept_mb, lists, truth, ceiling_pages_s):
    """All figures of one crawl, as they go into the results."""
    thousands = max(visits.pages, 1) / 1000
    pages_s = visits.pages / cost.wall_s
    return {
        **asdict(cost),
        **asdict(visits),
        "kept_mb": kept_mb,
        "pages_s": pages_s,
        "share_of_wrk": pages_s / ceiling_pages_s,
        "cpu_s_per_1000": cost.cpu_s / thousands,
        "server_cpu_s_per_1000": cost.server_cpu_s / thousands,
        "truth": len(truth.reachable),
        **{name: len(pages) for name, pages in lists.items()},
    }
