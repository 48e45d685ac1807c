//! Workers with a wrong token, collection or broker are refused with one line.

use testkit::NatsServer;

use crate::process::run;

/// Error message of a worker that is refused.
fn refused(broker: &str, more: &[&str]) -> String {
    let transport = ["worker", "--broker", broker, "--store", "file:///nowhere/weir-store"];
    let output = run(&[&transport, more].concat());
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert_eq!(err.trim().lines().count(), 1, "{err}");
    err
}

#[test]
fn a_wrong_token_and_an_unknown_collection_are_refused() {
    let Some(bin) = testkit::venv(env!("CARGO_MANIFEST_DIR")) else { return };
    let server = NatsServer::start_with(&bin, &["--jetstream", "--auth", "right"], &[]);
    let temp = tempfile::tempdir().unwrap();
    let token = |word: &str| {
        let path = temp.path().join(word);
        std::fs::write(&path, word).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let err = refused(&server.url(), &["--collection", "web", "--broker-token-file", &token("wrong")]);
    assert!(err.contains("wrong token, user or password"), "{err}");
    let err = refused(&server.url(), &["--collection", "web", "--broker-token-file", &token("right")]);
    assert!(err.contains("collection `web`"), "{err}");
    let err = refused(&server.url(), &[]);
    assert!(err.contains("--collection"), "{err}");
}
