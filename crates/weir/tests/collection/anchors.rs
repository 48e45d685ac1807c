//! `weir anchors`.

use super::{objects, sample, told};

#[test]
fn the_words_of_links_are_counted_by_page_and_site() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    drop(sample::make(dir, 2));
    // A page that was parsed twice still counts once.
    let found = objects(dir, &["anchors", "DIR", sample::URLS[1]]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((&found[0]["pages"], &found[0]["sites"]), (&1.into(), &1.into()), "{found:?}");
    let words = found[0]["anchor"].as_str().unwrap();
    let (code, out, _) = told(dir, &["anchors", "DIR", sample::URLS[1]]);
    assert!(code == 0 && out.contains("1 pages       1 sites") && out.contains(words), "{out}");
}

#[test]
fn without_links_or_without_a_url_it_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    drop(sample::make(dir, 1));
    let (code, out, _) = told(dir, &["anchors", "DIR", "https://nobody.test/"]);
    assert_eq!((code, out.as_str()), (0, "no page of DIR links to https://nobody.test/\n"));
    let (code, _, err) = told(dir, &["anchors", "DIR", "a.test"]);
    assert!(code == 2 && err.contains("write one such as https://a.test"), "{err}");
}
