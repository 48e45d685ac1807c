//! HTTPS, tested with curl.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::archive::{Sample, program};
use crate::served::Served;

/// Generates a self-signed certificate and its key.
fn certificate(sample: &Sample) -> (PathBuf, PathBuf) {
    let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
    let generated = rcgen::generate_simple_self_signed(names).unwrap();
    (
        sample.file("cert.pem", &generated.cert.pem()),
        sample.file("key.pem", &generated.signing_key.serialize_pem()),
    )
}

/// Runs curl; returns exit code and output.
fn curl(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new("curl").args(["-sS", "--max-time", "30"]).args(arguments).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn the_server_speaks_https() {
    let sample = Sample::of(&[("https://a.test/", "<title>A</title><p>one page about rivers")]);
    let (certificate, key) = certificate(&sample);
    let served = Served::start(&sample.dir(), &["--tls-cert", text(&certificate), "--tls-key", text(&key)]);
    let url = |path: &str| format!("https://{}{path}", served.address);
    let trust = ["--cacert", text(&certificate)];
    let request = |arguments: &[&str]| curl(&[&trust[..], arguments].concat());

    let (code, health) = request(&[&url("/health")]);
    assert_eq!((code, health.as_str()), (Some(0), r#"{"healthy":true}"#));
    let (_, found) = request(&[&url("/api/v1/search?q=rivers")]);
    assert!(found.contains("\"total\":1"), "{found}");
    let (_, stream) = request(&[&url("/stream?format=urls")]);
    assert_eq!(stream, "https://a.test/\n");
    // The cookie is restricted to TLS.
    let (_, login) = request(&["-i", &url(&served.login)]);
    assert!(login.starts_with("HTTP/1.1 303") && login.contains("SameSite=Strict; Secure"), "{login}");
    // curl does not trust the certificate without --cacert.
    assert_eq!(curl(&[&url("/health")]).0, Some(60));
    // A plain HTTP request gets an error message and no data.
    let plain = served.get("/api/v1/search?q=rivers");
    assert_eq!(plain.status, 400, "{plain:?}");
    assert!(plain.body.contains("HTTPS") && !plain.body.contains("a.test"), "{plain:?}");
    // An invalid handshake does not affect the server.
    served.send(&[22, 3, 1, 255, 255, 0, 0]);
    assert_eq!(request(&[&url("/health")]).0, Some(0));
}

#[test]
fn invalid_certificates_are_rejected_at_start() {
    let sample = Sample::of(&[("https://a.test/", "<title>A</title>one page")]);
    let (certificate, key) = certificate(&sample);
    let other_key = rcgen::generate_simple_self_signed(vec!["a.test".to_owned()]).unwrap().signing_key;
    let other_key = sample.file("other.pem", &other_key.serialize_pem());
    let empty = sample.file("empty.pem", "");
    let serve = |certificate: &Path, key: &Path| {
        let mut command = Command::new(program());
        command.args(["serve", &sample.dir(), "--listen", "127.0.0.1:0"]);
        let output = command.arg("--tls-cert").arg(certificate).arg("--tls-key").arg(key).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    for (certificate, key, file) in [
        (certificate.as_path(), other_key.as_path(), "other.pem"),
        (empty.as_path(), key.as_path(), "empty.pem"),
        (certificate.as_path(), empty.as_path(), "empty.pem"),
        (Path::new("/nowhere/at/all"), key.as_path(), "/nowhere/at/all"),
    ] {
        let (code, stderr) = serve(certificate, key);
        assert!(
            code == Some(2) && stderr.contains(file) && stderr.lines().count() == 1,
            "{code:?}: {stderr}"
        );
    }
    let alone =
        Command::new(program()).args(["serve", &sample.dir(), "--tls-key", text(&key)]).output().unwrap();
    assert_eq!(alone.status.code(), Some(2), "a key without its certificate");
}
