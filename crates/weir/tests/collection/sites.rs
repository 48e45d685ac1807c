//! `weir sites`.

use super::{objects, run_text, sample};

#[test]
fn sites_are_listed_in_the_requested_order() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    let mut collection = sample::make(dir, 1);
    let numbers = [(3, 2, 5_000, 200), (9, 1, 70, 503)];
    collection
        .site_state
        .update(&[model::SiteId(0), model::SiteId(1)], |index, site| {
            let (known, fetched, bytes, status) = numbers[index];
            (site.pages_known, site.pages_fetched, site.bytes_received) = (known, fetched, bytes);
            (site.robots_fetched_s, site.robots_status) = (1_794_731_400, status);
        })
        .unwrap();
    collection
        .site_state
        .update(&[model::SiteId(1)], |_, site| site.alias_of = Some(model::SiteId(0)))
        .unwrap();
    collection.commit(0).unwrap();
    std::fs::write(
        dir.join("weir.toml"),
        "[[site]]\nmatch = 'b,test'\n[[site]]\nmatch = 'test,b:8080)'\ndelay = '90s'\n",
    )
    .unwrap();

    let (code, out, err) = run_text(dir, &["sites", "DIR"]);
    assert_eq!((code, err.as_str()), (0, ""));
    insta::assert_snapshot!(out, @r"
        known    fetched     queued     failed   received   delay  robots       site
            3          2          0          0    5.00 kB    15 s  rules        https://a.test
            9          1          0          0   70 bytes    90 s  unreachable  http://b.test:8080  (alias of https://a.test)
    ");
    let names = |arguments: &[&str]| {
        let arguments = [&["sites", "DIR"], arguments].concat();
        let objects = objects(dir, &arguments);
        objects.iter().map(|site| site["site"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&["--sort", "known"]), ["http://b.test:8080", "https://a.test"]);
    assert_eq!(names(&["--sort", "name", "--limit", "1"]), ["http://b.test:8080"]);
    assert_eq!(names(&["--filter", "a.te"]), ["https://a.test"]);
    let site = &objects(dir, &["sites", "DIR"])[1];
    assert_eq!((site["delay_ms"].as_u64(), site["robots"].as_str()), (Some(90_000), Some("unreachable")));
    assert_eq!((site["alias_of"].as_str(), site["pages_known"].as_u64()), (Some("https://a.test"), Some(9)));
}
