//! Who comes with the wrong word, or to the wrong place, is told so in one sentence.

use crate::nats_server::NatsServer;
use crate::process::run;

/// A worker that is refused, and what it says.
fn refused(broker: &str, more: &[&str]) -> String {
    let way = ["worker", "--broker", broker, "--store", "file:///nowhere/weir-depot"];
    let output = run(&[&way, more].concat());
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert_eq!(told.trim().lines().count(), 1, "{told}");
    told
}

#[test]
fn a_wrong_token_a_wrong_collection_and_nobody_there() {
    let Some(server) = NatsServer::start_with(&["--jetstream", "--auth", "right"], &[]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let token = |word: &str| {
        let path = folder.path().join(word);
        std::fs::write(&path, word).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let told = refused(&server.url(), &["--collection", "web", "--broker-token-file", &token("wrong")]);
    assert!(told.contains("does not let us in"), "{told}");
    let told = refused(&server.url(), &["--collection", "web", "--broker-token-file", &token("right")]);
    assert!(told.contains("knows no collection `web`"), "{told}");
    let told = refused(&server.url(), &[]);
    assert!(told.contains("--collection"), "{told}");
}
