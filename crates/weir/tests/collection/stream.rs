//! Streams of `weir serve`, read by `weir cat`, curl and the Python package.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::venv::{run, venv};
use super::{run_text, sample, weir};

/// Running server; killed when this value is dropped.
pub(super) struct Server {
    child: Child,
    dir: PathBuf,
    arguments: Vec<String>,
    pub(super) url: String,
    pub(super) flight: Option<String>,
}

impl Server {
    pub(super) fn start(dir: &Path, arguments: &[&str]) -> Server {
        let arguments: Vec<String> =
            ["--listen", "127.0.0.1:0"].iter().chain(arguments).map(ToString::to_string).collect();
        let (child, url, flight) = spawn(dir, &arguments);
        Server { child, dir: dir.to_owned(), arguments, url, flight }
    }

    /// Kills the server (SIGKILL) and starts another at the same address.
    pub(super) fn restart(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let mut addresses = [Some(&self.url), self.flight.as_ref()]
            .into_iter()
            .flatten()
            .map(|url| url.split("://").nth(1).unwrap().trim_end_matches('/'));
        for argument in self.arguments.iter_mut().filter(|argument| argument.starts_with("127.0.0.1:")) {
            *argument = addresses.next().unwrap().to_owned();
        }
        let (child, url, flight) = spawn(&self.dir, &self.arguments);
        self.child = child;
        assert_eq!((&url, &flight), (&self.url, &self.flight));
    }

    /// Peak memory so far.
    pub(super) fn peak_bytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
    }
}

/// Starts a server and reads its URLs.
fn spawn(dir: &Path, arguments: &[String]) -> (Child, String, Option<String>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command.arg("serve").arg(dir).arg("--json").args(arguments);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut read_url = |name: &str| {
        let object: serde_json::Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        object[name].as_str().unwrap().to_owned()
    };
    let url = read_url("url");
    let flight = arguments.iter().any(|argument| argument == "--flight-listen").then(|| read_url("flight"));
    (child, url, flight)
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn cat_writes_the_same_pages_from_a_server_and_from_the_directory() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(&dir.join("c"), 2));
    let server = Server::start(&dir.join("c"), &[]);
    for arguments in [
        &["--format", "warc"][..],
        &["--format", "text", "--site", "a.test"],
        &["--format", "urls"],
        &["--where", "status < 400"],
    ] {
        let local = weir(dir, &[&["cat", "DIR/c"], arguments].concat());
        let remote = weir(dir, &[&["cat", server.url.as_str()], arguments].concat());
        assert!(
            remote.status.success() && local.stdout == remote.stdout && !local.stdout.is_empty(),
            "{arguments:?}"
        );
    }
    let (code, _, err) = run_text(dir, &["cat", &server.url, "--where", "status"]);
    assert!(code == 2 && err.contains("at character 7: expected ="), "{err}");
    let (code, out, err) = run_text(dir, &["cat", &server.url, "--site", "nowhere.test"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(
        err.ends_with("rejected the request: HTTP 404: no site `nowhere.test` in the collection\n"),
        "{err}"
    );
}

#[test]
fn a_stream_needs_the_token() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(&dir.join("c"), 1));
    let secret = dir.join("secret");
    std::fs::write(&secret, "0123456789abcdef\n").unwrap();
    let server = Server::start(&dir.join("c"), &["--token-file", secret.to_str().unwrap()]);
    let (code, out, err) = run_text(dir, &["cat", &server.url]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("rejected the request: HTTP 401"), "{err}");
    let output =
        weir(dir, &["cat", &server.url, "--format", "urls", "--token-file", secret.to_str().unwrap()]);
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().collect::<Vec<_>>(), sample::URLS);
}

/// Creates a self-signed certificate for this machine, and its key.
fn certificate(dir: &Path) -> [String; 2] {
    let generated = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let files = [("cert.pem", generated.cert.pem()), ("key.pem", generated.signing_key.serialize_pem())];
    files.map(|(name, pem)| {
        std::fs::write(dir.join(name), pem).unwrap();
        dir.join(name).to_str().unwrap().to_owned()
    })
}

#[test]
fn cat_and_python_read_over_tls_only_with_a_trusted_certificate() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(&dir.join("c"), 1));
    let [certificate, key] = certificate(dir);
    let server = Server::start(&dir.join("c"), &["--tls-cert", &certificate, "--tls-key", &key]);
    assert!(server.url.starts_with("https://"), "{}", server.url);
    let output = weir(dir, &["cat", &server.url, "--format", "urls", "--ca-file", &certificate]);
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().collect::<Vec<_>>(), sample::URLS);
    let (code, out, err) = run_text(dir, &["cat", &server.url]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains("TLS certificate") && err.contains("--ca-file"), "{err}");
    let (code, _, err) = run_text(dir, &["cat", &server.url, "--ca-file", "DIR/none"]);
    assert!(code == 2 && err.starts_with("weir: --ca-file: cannot read the file"), "{err}");

    let Some(bin) = venv() else { return };
    let script = "import sys, weir; print(len(list(weir.stream(sys.argv[1], ca_file=sys.argv[2]))))\n\
                  try: list(weir.stream(sys.argv[1]))\n\
                  except weir.StreamError as error: print(error)";
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/src");
    let mut command = Command::new(bin.join("python"));
    let output =
        run(command.env("PYTHONPATH", package).args(["-c", script]).arg(&server.url).arg(&certificate));
    assert!(output.starts_with("6\n") && output.contains("is invalid"), "{output}");
}

#[test]
fn curl_continues_a_partial_download() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(&dir.join("c"), 2));
    let server = Server::start(&dir.join("c"), &[]);
    let whole = weir(dir, &["cat", "DIR/c"]).stdout;
    let file = dir.join("pages.warc.gz");
    std::fs::write(&file, &whole[..1000]).unwrap();
    let url = format!("{}stream", server.url);
    run(Command::new("curl")
        .args(["--silent", "--show-error", "--fail", "--continue-at", "-", "--output"])
        .arg(&file)
        .arg(url));
    assert!(std::fs::read(&file).unwrap() == whole);
}

#[test]
fn the_python_package_reads_all_stream_formats() {
    let Some(bin) = venv() else { return };
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(&dir.join("c"), 2));
    let server = Server::start(&dir.join("c"), &[]);
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/read_stream.py");
    let mut command = Command::new(bin.join("python"));
    command.env("PYTHONPATH", package.join("src")).arg(script).arg(&server.url).arg("6");
    command.arg(env!("CARGO_BIN_EXE_weir")).arg(dir.join("c"));
    assert_eq!(run(&mut command), "6 pages\n");
    let tests = ["-m", "unittest", "discover", "--quiet", "--start-directory"];
    let mut offline = Command::new(bin.join("python"));
    run(offline.env("PYTHONPATH", package.join("src")).args(tests).arg(package.join("tests")));
    let mut example = Command::new(bin.join("python"));
    example
        .env("PYTHONPATH", package.join("src"))
        .arg(package.join("examples/anchor_index.py"))
        .arg(&server.url);
    run(&mut example);
}

#[test]
#[cfg(feature = "flight")]
fn pyarrow_reads_by_flight() {
    let Some(bin) = venv() else { return };
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(&dir.join("c"), 2));
    let server = Server::start(&dir.join("c"), &["--flight-listen", "127.0.0.1:0"]);
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/src");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/read_flight.py");
    let mut command = Command::new(bin.join("python"));
    command.env("PYTHONPATH", package).arg(script).arg(server.flight.as_deref().unwrap()).arg("6");
    assert_eq!(run(&mut command), "6 pages\n");
}

#[test]
#[cfg(feature = "flight")]
fn pyarrow_reads_by_flight_over_tls_with_the_token() {
    let Some(bin) = venv() else { return };
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(&dir.join("c"), 1));
    let [certificate, key] = certificate(dir);
    let secret = dir.join("secret");
    std::fs::write(&secret, "0123456789abcdef\n").unwrap();
    let auth = ["--token-file", secret.to_str().unwrap(), "--tls-cert", &certificate, "--tls-key", &key];
    let server = Server::start(&dir.join("c"), &[&["--flight-listen", "127.0.0.1:0"], &auth[..]].concat());
    let location = server.flight.as_deref().unwrap();
    assert!(location.starts_with("grpc+tls://"), "{location}");
    let script = "import sys, weir\n\
                  read = lambda token: list(weir.flight(sys.argv[1], token=token, ca_file=sys.argv[2]))\n\
                  print(sum(batch.num_rows for batch in read('0123456789abcdef')))\n\
                  try: read('another')\n\
                  except weir.StreamError as error: print(error)";
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/src");
    let mut command = Command::new(bin.join("python"));
    let output = run(command.env("PYTHONPATH", package).args(["-c", script, location, &certificate]));
    assert!(output.starts_with("6\n") && output.contains("access token"), "{output}");
}

#[test]
#[cfg(not(feature = "flight"))]
fn a_build_without_flight_prints_how_to_build_it() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(&dir.join("c"), 1));
    let (code, _, err) =
        run_text(dir, &["serve", "DIR/c", "--listen", "127.0.0.1:0", "--flight-listen", "127.0.0.1:0"]);
    assert_eq!(code, 2);
    assert_eq!(
        err,
        "weir: this build has no Arrow Flight support; build with `--features flight` (or `full`)\n"
    );
}
