"""Upper bound of the fetch rate: wrk fetches the pages of the ground truth without parsing or storing them. No crawler on
the same cores can be faster."""

import random
import subprocess

import measure
import web

SECONDS = 10
CONNECTIONS = 32
SCRIPT = """\
local requests, at = {{}}, 0
function init()
    for line in io.lines("{list}") do
        local host, path = line:match("^(%S+) (%S+)$")
        requests[#requests + 1] = wrk.format("GET", path, {{ Host = host }})
    end
end
function request()
    at = at % #requests + 1
    return requests[at]
end
function done(summary)
    local errors = summary.errors
    io.write(string.format("answers %d seconds %f errors %d\\n", summary.requests, summary.duration / 1e6,
        errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
"""


def find(server, truth, folder):
    """Returns the pages per second and the cost of wrk; the disk cache is warm afterwards."""
    pages = sorted(truth.reachable)
    random.Random(1).shuffle(pages)
    listed = folder / "pages.txt"
    listed.write_text("".join(f"{page[:page.index('/')]} {page[page.index('/'):]}\n" for page in pages))
    script = folder / "wrk.lua"
    script.write_text(SCRIPT.format(list=listed))
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}s", "-s", script, f"http://{web.EVERY_HOST}/"]
    # The first run is not measured, because it may read pages from the disk.
    subprocess.run(["wrk", "-t1", f"-c{CONNECTIONS}", "-d2s", *command[4:]], check=True, stdout=subprocess.DEVNULL)
    log = folder / "wrk.log"
    cost = measure.run(command, folder, server, log)
    words = log.read_text().splitlines()[-1].split()
    answers, seconds, errors = int(words[1]), float(words[3]), int(words[5])
    if errors:
        raise SystemExit(f"wrk met {errors} errors, see {log}")
    return answers, answers / seconds, cost
