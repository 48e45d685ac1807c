//! `weir similar`.

use super::{objects, run_text, sample};

#[test]
fn missing_data_is_a_usage_error() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(dir, 1));
    let message = |arguments: &[&str]| {
        let (code, out, err) = run_text(dir, arguments);
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        err
    };
    insta::assert_snapshot!(message(&["similar", "DIR", "https://a.test/docs/guidance"]), @"weir: https://a.test/docs/guidance is not in DIR; known sites of this host: https://a.test");
    insta::assert_snapshot!(message(&["similar", "DIR", "https://a.test/", "--by", "links"]), @"weir: no link graph; run `weir analyze DIR`");
    insta::assert_snapshot!(message(&["similar", "DIR", "https://a.test/", "--by", "text"]), @"weir: cannot compare the text of the page: it has no text");
    insta::assert_snapshot!(message(&["similar", "DIR", "https://a.test/"]), @"weir: cannot compare the text of the page: it has no text");
    let err = message(&["similar", "DIR", "a.test"]);
    assert!(err.contains("example: https://a.test"), "{err}");
}

#[test]
fn pages_with_common_links_are_found() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(dir, 1));
    objects(dir, &["analyze", "DIR"]);
    let found = objects(dir, &["similar", "DIR", sample::URLS[1], "--by", "links"]);
    assert_eq!(found.len(), 4, "{found:?}");
    assert_eq!((&found[0]["by"], &found[0]["common_links"]), (&"links".into(), &1.into()));
    // One page links to both, and to three others: 1/5 / (1/5 + 1/2).
    assert!((found[0]["score"].as_f64().unwrap() - 2.0 / 7.0).abs() < 1e-6, "{found:?}");
    assert!(found.iter().all(|page| page["url"] != sample::URLS[1]), "{found:?}");
    let (code, out, _) = run_text(dir, &["similar", "DIR", sample::URLS[1], "--by", "links", "--limit", "1"]);
    assert_eq!(code, 0);
    insta::assert_snapshot!(out, @"
    0.29  https://a.test/docs/guide?x=1
          Page 2, version 0  both are linked from 1 page
    ");
    let (code, out, _) = run_text(dir, &["similar", "DIR", sample::URLS[0], "--by", "links"]);
    assert_eq!((code, out.as_str()), (0, "no similar pages\n"));
}
