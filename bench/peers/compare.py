"""Comparison of crawlers on the same pages: runs them one after another and prints one table. Called by `run` in this
directory, which installs the requirements."""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import ceiling
import crawlers
import measure
import truth as truths
import web

COLUMNS = [
    ("crawler", "{crawler}"), ("keeps", "{keeps}"), ("pages", "{pages:,}"), ("repeated", "{repeated:,}"),
    ("missed", "{missed:,}"), ("unexplained", "{unexplained:,}"), ("extra", "{extra:,}"), ("wall s", "{wall_s:.1f}"),
    ("pages/s", "{pages_s:,.0f}"), ("of wrk", "{share_of_wrk:.1%}"), ("CPU s", "{cpu_s:.2f}"),
    ("CPU s/1,000", "{cpu_s_per_1000:.3f}"), ("peak MB", "{peak_mb:,.0f}"), ("kept MB", "{kept_mb:,.0f}"),
    ("server CPU s", "{server_cpu_s:.1f}"), ("other CPU s", "{other_cpu_s:.1f}"),
]
# Maximum share of the CPU time used by other processes; a run above it counts as disturbed. The kernel alone takes about
# half of it.
MAX_DISTURBANCE = 0.10


def main():
    arguments = parse_arguments()
    # Like Ctrl-C: child processes are stopped on exit.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    work = arguments.work.resolve()
    hosts = web.build(work, arguments.set)
    truth = truths.load(work / f"truth-{arguments.set}.pickle", hosts)
    print(f"{len(truth.reachable):,} pages on {len(hosts)} hosts")
    target = crawlers.Target(work, write_seeds(work, arguments.set, hosts), hosts, arguments.weir)
    name_hosts(work, hosts)
    chosen = [crawler for crawler in crawlers.CRAWLERS if crawler.name in arguments.only]
    context = {"date": time.strftime("%Y-%m-%dT%H:%M:%S"), "set": arguments.set, "cores": os.cpu_count()}
    rows = []
    with web.Server(work, hosts) as server:
        responses, ceiling_pages_s, cost = ceiling.find(server, truth, crawlers.empty_folder(work, "wrk"))
        log = measure.Log(server.log)
        log.skip()
        rows.append(ceiling_row(responses, ceiling_pages_s, cost))
        write_result(work, context, rows[-1])
        for crawler in chosen:
            rows.append(crawl(crawler, target, server, log, truth, ceiling_pages_s))
            write_result(work, context | {"version": crawler.version(target)}, rows[-1])
    print_table(rows)
    print_verdict(rows)


def parse_arguments():
    names = [crawler.name for crawler in crawlers.CRAWLERS]
    parser = argparse.ArgumentParser(prog="bench/peers/run", description="Compares crawlers on one Web of real pages.")
    parser.add_argument("--weir", type=Path, help="weir binary to measure; without it only the peers are measured")
    parser.add_argument("--set", choices=web.SETS, default="5k", help="7,700 pages (default) or 26,000")
    parser.add_argument("--only", default=",".join(names), help="comma-separated names of crawlers: " + ", ".join(names))
    parser.add_argument("--work", type=Path, required=True, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.only = arguments.only.split(",")
    if unknown := set(arguments.only) - set(names):
        parser.error(f"unknown crawler {', '.join(sorted(unknown))}")
    if arguments.weir is None:
        arguments.only = [name for name in arguments.only if name != "weir"]
    else:
        arguments.weir = arguments.weir.resolve(strict=True)
    return arguments


def write_seeds(work, name, hosts):
    seeds = work / f"seeds-{name}.txt"
    seeds.write_text("".join(f"http://{host.name}/\n" for host in hosts))
    return seeds


def name_hosts(work, hosts):
    """Adds the hosts to /etc/hosts for this process and its children only: `run` has given it a separate mount namespace."""
    names = work / "hosts"
    names.write_text("127.0.0.1 localhost\n" + "".join(f"{host.address} {host.name}\n" for host in hosts))
    subprocess.run(["mount", "--bind", names, "/etc/hosts"], check=True)


def crawl(crawler, target, server, log, truth, ceiling_pages_s):
    print(f"{crawler.name} ...", end=" ", flush=True)
    folder = crawlers.empty_folder(target.work, crawler.name)
    command = crawler.command(target, folder)
    words = target.work / "out" / f"{crawler.name}.log"
    cost = measure.run(command, folder, server, words)
    fetches, found = log.read()
    print(f"{fetches.pages:,} pages in {cost.wall_s:.1f} s", flush=True)
    # The exit code is not reliable: wget returns 8 if any link is dead. The fetched pages decide.
    if fetches.pages == 0 or cost.stopped:
        print(f"  run failed: see {words}", flush=True)
    lists = {"missed": truth.reachable - found, "unexplained": truth.unexplained(found), "extra": found - truth.reachable}
    for name, pages in lists.items():
        listed = target.work / "out" / f"{crawler.name}.{name}"
        listed.write_text("".join(f"{page}\n" for page in sorted(pages)))
    figures = measure.row(cost, fetches, measure.size_mb(folder), lists, truth, ceiling_pages_s)
    return {"crawler": crawler.name, "keeps": crawler.keeps, **figures}


def ceiling_row(responses, pages_s, cost):
    return {
        "crawler": "wrk", "keeps": "nothing", "wall_s": cost.wall_s, "cpu_s": cost.cpu_s, "peak_mb": cost.peak_mb,
        "server_cpu_s": cost.server_cpu_s, "other_cpu_s": cost.other_cpu_s, "requests": responses, "pages_s": pages_s,
        "share_of_wrk": 1.0, "cpu_s_per_1000": cost.cpu_s / responses * 1000,
    }


def write_result(work, context, row):
    with open(work / "results.jsonl", "a") as results:
        results.write(json.dumps(context | row) + "\n")


def print_table(rows):
    cells = [[title for title, _ in COLUMNS]]
    for row in rows:
        cells.append([cell(form, row) for _, form in COLUMNS])
    widths = [max(len(line[column]) for line in cells) for column in range(len(COLUMNS))]
    print()
    for number, line in enumerate(cells):
        print("| " + " | ".join(text.ljust(width) for text, width in zip(line, widths)) + " |")
        if number == 0:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")


def cell(form, row):
    try:
        return form.format(**row)
    except KeyError:
        return "-"


def print_verdict(rows):
    """Prints weir's figures relative to the peers, and warns of runs that were disturbed by other processes."""
    for row in rows:
        share = row["other_cpu_s"] / (row["wall_s"] * os.cpu_count())
        if share > MAX_DISTURBANCE:
            print(f"{row['crawler']}: disturbed: other processes used {share:.0%} of the CPU time; run it again")
    peers = [row for row in rows if row["crawler"] not in ("wrk", "weir") and row["pages"]]
    for row in rows:
        if row["crawler"] != "weir":
            continue
        unexplained = f"{row['unexplained']:,} of them without a reason" if row["unexplained"] else "all of them for a reason"
        whole = f"all but {row['missed']:,} of the {row['truth']:,} pages, {unexplained}" if row["missed"] else "every page"
        print(f"weir found {whole}: {row['cpu_s_per_1000']:.3f} CPU s per 1,000 pages, "
              f"{row['share_of_wrk']:.1%} of wrk's pages/s")
        if peers:
            lean = min(peers, key=lambda peer: peer["cpu_s_per_1000"])
            fast = max(peers, key=lambda peer: peer["pages_s"])
            cpu_ratio = row["cpu_s_per_1000"] / lean["cpu_s_per_1000"]
            speed_ratio = row["pages_s"] / fast["pages_s"]
            print(f"that is {cpu_ratio:.2f} of the CPU of {lean['crawler']}, the leanest peer, "
                  f"and {speed_ratio:.2f} times the pages/s of {fast['crawler']}, the fastest")


if __name__ == "__main__":
    sys.exit(main())
