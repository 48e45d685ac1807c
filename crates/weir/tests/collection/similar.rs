//! `weir similar`.

use super::{objects, sample, told};

#[test]
fn what_is_missing_is_told_in_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    drop(sample::make(dir, 1));
    let sentence = |arguments: &[&str]| {
        let (code, out, err) = told(dir, arguments);
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        err
    };
    insta::assert_snapshot!(sentence(&["similar", "DIR", "https://a.test/docs/guidance"]), @"weir: DIR does not know https://a.test/docs/guidance; of this host the collection knows https://a.test");
    insta::assert_snapshot!(sentence(&["similar", "DIR", "https://a.test/", "--by", "links"]), @"weir: links cannot be compared yet: run `weir analyze DIR` first");
    insta::assert_snapshot!(sentence(&["similar", "DIR", "https://a.test/", "--by", "text"]), @"weir: texts cannot be compared with that of this page: it has no text");
    insta::assert_snapshot!(sentence(&["similar", "DIR", "https://a.test/"]), @"weir: texts cannot be compared with that of this page: it has no text");
    let err = sentence(&["similar", "DIR", "a.test"]);
    assert!(err.contains("write one such as https://a.test"), "{err}");
}

#[test]
fn pages_with_the_same_links_are_told_of() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    drop(sample::make(dir, 1));
    objects(dir, &["analyze", "DIR"]);
    let found = objects(dir, &["similar", "DIR", sample::URLS[1], "--by", "links"]);
    assert_eq!(found.len(), 4, "{found:?}");
    assert_eq!(
        (&found[0]["by"], &found[0]["score"], &found[0]["common_links"]),
        (&"links".into(), &1.0.into(), &1.into())
    );
    assert!(found.iter().all(|page| page["url"] != sample::URLS[1]), "{found:?}");
    let (code, out, _) = told(dir, &["similar", "DIR", sample::URLS[1], "--by", "links", "--top", "1"]);
    assert_eq!(code, 0);
    insta::assert_snapshot!(out, @"
    1.00  https://a.test/docs/guide?x=1
          Page 2, version 0  both are linked from 1 page
    ");
    let (code, out, _) = told(dir, &["similar", "DIR", sample::URLS[0], "--by", "links"]);
    assert_eq!((code, out.as_str()), (0, "no page of DIR is like https://a.test/\n"));
}
