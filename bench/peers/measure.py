"""Cost and result of one crawl. The cost is that of the crawler's processes alone, as counted by the kernel; the fetched
pages are taken from the log of the server, not from the crawler."""

import os
import signal
import subprocess
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

from truth import page_name

# Maximum duration; a crawler that takes longer is stopped, and its row says so.
MAX_SECONDS = 3600
# Longer than the interval at which nginx flushes its log.
LOG_FLUSH_SECONDS = 1.5


@dataclass
class Cost:
    wall_s: float
    cpu_s: float
    peak_mb: float
    server_cpu_s: float
    # CPU time of all other processes during the run.
    other_cpu_s: float
    exit_code: int
    stopped: bool


@dataclass
class Fetches:
    requests: int
    # Distinct pages with status 200 and HTML.
    pages: int
    # Repeated responses with such a page.
    repeated: int
    other_responses: dict
    mb: float


def run(command, folder, server, log):
    """Runs a crawler in `folder` until it ends; its output goes to `log`."""
    os.sync()
    # GNU time is small enough that the peak memory is that of the crawler.
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
        child.wait(MAX_SECONDS)
        return True
    except subprocess.TimeoutExpired:
        return False
    finally:
        # After a timeout, or if this program is stopped.
        stop(child)


def stop(child):
    """Stops the crawler, by SIGKILL if necessary, but not `time`, which reports its cost so far."""
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
    """CPU time of the machine since its start, without idle time and I/O wait."""
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, Path("/proc/stat").read_text().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


class Log:
    """Request log of the server; each crawl reads from the end of the previous one."""

    def __init__(self, file):
        self.file = file
        self.at = 0

    def skip(self):
        time.sleep(LOG_FLUSH_SECONDS)
        self.at = self.file.stat().st_size

    def read(self):
        """Returns the fetches since the last `skip` or `read`, and the set of pages."""
        time.sleep(LOG_FLUSH_SECONDS)
        with open(self.file, errors="surrogateescape") as log:
            log.seek(self.at)
            lines = log.readlines()
            self.at = log.tell()
        sent, others, size = Counter(), Counter(), 0
        for line in lines:
            method, status, body_bytes, host, path, mime_type = line.rstrip("\n").split("\t")
            size += int(body_bytes)
            if method == "GET" and status == "200" and mime_type.startswith("text/html"):
                sent[page_name(host, path)] += 1
            elif path != "/robots.txt":
                others[f"{method} {status}"] += 1
        pages = set(sent)
        repeated = sent.total() - len(pages)
        return Fetches(len(lines), len(pages), repeated, dict(others), size / 1e6), pages


def size_mb(folder):
    """Size of the files that the crawler stored."""
    files = (file for file in folder.rglob("*") if file.is_file() and not file.is_symlink())
    return sum(file.stat().st_size for file in files) / 1e6


def row(cost, fetches, kept_mb, lists, truth, ceiling_pages_s):
    """All figures of one crawl, for the results."""
    thousands = max(fetches.pages, 1) / 1000
    pages_s = fetches.pages / cost.wall_s
    return {
        **asdict(cost),
        **asdict(fetches),
        "kept_mb": kept_mb,
        "pages_s": pages_s,
        "share_of_wrk": pages_s / ceiling_pages_s,
        "cpu_s_per_1000": cost.cpu_s / thousands,
        "server_cpu_s_per_1000": cost.server_cpu_s / thousands,
        "truth": len(truth.reachable),
        **{name: len(pages) for name, pages in lists.items()},
    }
