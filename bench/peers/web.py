"""Web of real pages: documentation packages of Debian, unpacked and not installed. Each is a host with its own IP address,
served by one nginx process on loopback. The pages are unchanged."""

import html
import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

# In the order of their IP addresses, so that a host has the same address in every set.
PACKAGES = """
    ant-doc apache2-doc clang-14-doc cmake-doc debian-handbook debian-reference-en erlang-doc gap-doc gimp-help-en git-doc
    installation-guide-amd64 libeigen3-doc libglib2.0-doc libglibmm-2.4-doc libgtk-3-doc llvm-15-doc maxima-doc nodejs-doc
    octave-doc postgresql-doc-15 python-astropy-doc python-django-doc python-sklearn-doc python-sqlalchemy-doc
    python3.11-doc qtcreator-doc qtdeclarative5-doc-html r-doc-html slepc3.18-doc sqlite3-doc
""".split()
SETS = {
    "5k": """
        apache2-doc clang-14-doc gap-doc gimp-help-en git-doc libglib2.0-doc llvm-15-doc postgresql-doc-15
        python-django-doc python3.11-doc
    """.split(),
    "20k": PACKAGES,
}
PAGE_ENDINGS = (".html", ".htm")
# Rules that match no existing page: crawlers have to fetch and apply them, but lose no page.
ROBOTS = "User-agent: *\nDisallow: /cgi-bin/\nDisallow: /private/\n"
# All hosts at one address, for a client that sets the Host header.
EVERY_HOST = "127.0.0.1:8080"
MOST_ENTRIES = 200
DEEPEST_ENTRY = 4


@dataclass
class Host:
    name: str
    address: str
    root: Path
    # Contains robots.txt, and a front page if the package has none.
    made: Path

    def front_page(self):
        made = self.made / "index.html"
        return made if made.exists() else self.root / "index.html"

    def file(self, path):
        """Returns the file that nginx serves for this path, or None."""
        if path in ("/", "/index.html"):
            return self.front_page()
        file = str(self.root) + path + ("index.html" if path.endswith("/") else "")
        return file if os.path.isfile(file) else None


def host_name(package):
    words = [word for word in package.replace(".", "").split("-") if word not in ("doc", "html")]
    return "-".join(words) + ".test"


def build(work, name):
    """Downloads and unpacks the missing packages of a set; returns its hosts."""
    hosts = []
    for package in SETS[name]:
        root = unpacked(work, package)
        pages = [page for page in root.rglob("*.htm*") if page.name.endswith(PAGE_ENDINGS) and not page.is_symlink()]
        if not pages:
            raise SystemExit(f"{package} has no pages: delete {root} and try again")
        root = Path(os.path.commonpath([page.parent for page in pages]))
        host = host_name(package)
        made = work / "made" / host
        made.mkdir(parents=True, exist_ok=True)
        (made / "robots.txt").write_text(ROBOTS)
        if not (root / "index.html").exists():
            (made / "index.html").write_text(front_page(host, root))
        hosts.append(Host(host, f"127.0.1.{PACKAGES.index(package) + 1}", root, made))
    return hosts


def unpacked(work, package):
    root = work / "packages" / package
    if root.exists():
        return root
    debs = work / "debs"
    debs.mkdir(parents=True, exist_ok=True)
    if not list(debs.glob(f"{package}_*.deb")):
        print(f"fetching {package}", flush=True)
        # As root, apt downloads as another user without write permission here, and prints a warning.
        command = ["apt-get", "download", "-q", "-o", "APT::Sandbox::User=root", package]
        done = subprocess.run(command, cwd=debs, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"apt has no {package}; the sets are those of Debian 12:\n{done.stderr}")
    deb = max(debs.glob(f"{package}_*.deb"))
    part = root.with_suffix(root.suffix + ".part")
    part.mkdir(parents=True, exist_ok=True)
    subprocess.run(["dpkg-deb", "-x", deb, part], check=True)
    part.rename(root)
    deb.unlink()
    return root


def front_page(host, root):
    """Returns the entries of a front page: the pages at the top, and the first directory with pages of each subtree."""
    entries = []
    for folder, folders, files in os.walk(root):
        folders.sort()
        pages = sorted(file for file in files if file.endswith(PAGE_ENDINGS))
        below = Path(folder).relative_to(root)
        if below == Path("."):
            entries += pages[:MOST_ENTRIES]
        elif pages and len(below.parts) <= DEEPEST_ENTRY:
            entries.append(str(below / ("index.html" if "index.html" in pages else pages[0])))
            folders.clear()
    items = "".join(f'<li><a href="/{html.escape(entry)}">{html.escape(entry)}</a>\n' for entry in entries)
    return f"<!DOCTYPE html>\n<title>{host}</title>\n<h1>{host}</h1>\n<ul>\n{items}</ul>\n"


# No cache of open files: with it nginx runs out of file descriptors. One worker, so that the server uses at most one core
# with every crawler.
NGINX = """\
daemon off;
user root;
worker_processes 1;
pid {run}/nginx.pid;
error_log {run}/error.log error;
events {{ worker_connections 4096; }}
http {{
    include /etc/nginx/mime.types;
    default_type application/octet-stream;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 1000000;
    gzip off;
    open_file_cache off;
    server_names_hash_bucket_size 128;
    client_body_temp_path {run}/body;
    proxy_temp_path {run}/proxy;
    fastcgi_temp_path {run}/fastcgi;
    uwsgi_temp_path {run}/uwsgi;
    scgi_temp_path {run}/scgi;
    log_format visits "$request_method\\t$status\\t$body_bytes_sent\\t$host\\t$request_uri\\t$sent_http_content_type";
    access_log {log} visits buffer=256k flush=500ms;
{servers}}}
"""
SERVER = """\
    server {{
        listen {address}:80;
        listen {every_host};
        server_name {name};
        root {root};
        location = /robots.txt {{ root {made}; }}
{front}    }}
"""
MADE_FRONT = """\
        location = / {{ root {made}; try_files /index.html =404; }}
        location = /index.html {{ root {made}; }}
"""


class Server:
    """nginx as a context manager."""

    def __init__(self, work, hosts):
        self.run = work / "nginx"
        self.run.mkdir(parents=True, exist_ok=True)
        self.log = self.run / "access.log"
        self.log.unlink(missing_ok=True)
        servers = "".join(
            SERVER.format(
                address=host.address,
                every_host=EVERY_HOST,
                name=host.name,
                root=host.root,
                made=host.made,
                front=MADE_FRONT.format(made=host.made) if (host.made / "index.html").exists() else "",
            )
            for host in hosts
        )
        self.conf = self.run / "nginx.conf"
        self.conf.write_text(NGINX.format(run=self.run, log=self.log, servers=servers))

    def __enter__(self):
        self.process = subprocess.Popen(["nginx", "-c", self.conf, "-e", self.run / "error.log"])
        while not (workers := self.workers()):
            if self.process.poll() is not None:
                raise SystemExit(f"nginx does not start, see {self.run}/error.log; is port 80 or 8080 in use?")
            time.sleep(0.05)
        self.processes = [self.process.pid, *workers]
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def workers(self):
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children")
        return [int(child) for child in children.read_text().split()] if children.exists() else []

    def cpu_seconds(self):
        ticks = 0
        for pid in self.processes:
            # The name of the command may contain spaces; the fields after it do not.
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")
