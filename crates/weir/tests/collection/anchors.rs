//! `weir anchors`.

use super::{objects, run_text, sample};

#[test]
fn anchor_texts_are_counted_by_page_and_site() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(dir, 2));
    // A page that was parsed twice still counts once.
    let found = objects(dir, &["anchors", "DIR", sample::URLS[1]]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((&found[0]["pages"], &found[0]["sites"]), (&1.into(), &1.into()), "{found:?}");
    let words = found[0]["anchor"].as_str().unwrap();
    let (code, out, _) = run_text(dir, &["anchors", "DIR", sample::URLS[1]]);
    assert!(code == 0 && out.contains("1 pages       1 sites") && out.contains(words), "{out}");
}

#[test]
fn a_page_without_inlinks_and_an_invalid_url_are_reported() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(dir, 1));
    let (code, out, _) = run_text(dir, &["anchors", "DIR", "https://unlinked.test/"]);
    assert_eq!((code, out.as_str()), (0, "no page of DIR links to https://unlinked.test/\n"));
    let (code, _, err) = run_text(dir, &["anchors", "DIR", "a.test"]);
    assert!(code == 2 && err.contains("example: https://a.test"), "{err}");
}
