//! Statistics of empty and small collections, and the document that describes them.

use std::collections::BTreeSet;
use std::path::Path;

use super::sample::{MEMORY, Sample};
use analysis::{Description, Event, analyze, describe_statistics};
use store::{Statistic, StatisticValue, read_statistics};

fn statistics(sample: &Sample) -> Vec<Statistic> {
    analyze(sample.path(), &MEMORY, &mut |_: Event<'_>| ()).unwrap();
    read_statistics(sample.path()).unwrap().unwrap().1
}

fn check(statistics: &[Statistic]) {
    let described = describe_statistics();
    assert!(statistics.iter().map(|statistic| &*statistic.name).eq(described.iter().map(|known| known.name)));
    for (statistic, known) in statistics.iter().zip(&described) {
        assert_eq!(statistic.columns, known.columns, "{}", known.name);
        assert!(statistic.rows.iter().all(|row| row.len() == known.columns.len()), "{}", known.name);
    }
}

fn value<'s>(statistics: &'s [Statistic], name: &str, key: &str, column: usize) -> &'s StatisticValue {
    let statistic = statistics.iter().find(|statistic| statistic.name == name).unwrap();
    &statistic.rows.iter().find(|row| row[0].as_str() == Some(key)).unwrap()[column]
}

#[test]
fn empty_and_small_collections_have_all_statistics() {
    let mut sample = Sample::new();
    sample.commit();
    let nothing = statistics(&sample);
    check(&nothing);
    assert_eq!(value(&nothing, "summary", "pages", 1), &StatisticValue::Number(0.0));
    assert_eq!(value(&nothing, "diversity", "languages", 3), &StatisticValue::Null);
    sample.add_urls(["http://a.test/", "http://a.test/x.php?y=1", "https://b.example/"]);
    sample.store_page(0, "<title>zero</title>", &[(1, 10), (2, 10)]);
    sample.commit();
    let little = statistics(&sample);
    check(&little);
    for (name, key, column, expected) in [
        ("summary", "pages", 1, 3.0),
        ("summary", "pages-fetched", 1, 1.0),
        ("summary", "links", 1, 2.0),
        ("summary", "sites", 1, 2.0),
        ("summary", "domains", 1, 2.0),
        ("technologies", "php", 1, 1.0),
        ("stages", "discovered", 1, 2.0),
        ("servers", "simweb", 1, 1.0),
        ("mime-types", "text/html", 1, 1.0),
        ("protocols", "http", 1, 2.0),
        ("tlds", "example", 3, 1.0),
    ] {
        assert_eq!(value(&little, name, key, column).as_f64(), Some(expected), "{name}: {key}");
    }
    assert!(
        little.iter().all(|statistic| statistic.power_law_fit.is_none()),
        "too few values for a power law"
    );
}

#[test]
fn names_are_unique_and_in_kebab_case() {
    let names: Vec<&str> = describe_statistics().iter().map(|known| known.name).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    let is_plain = |name: &&str| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    assert!(names.iter().all(is_plain), "{names:?}");
}

/// `WEIR_WRITE_DOCS=1 cargo test -p analysis` regenerates the list.
#[test]
fn the_document_lists_every_statistic() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/statistics.md");
    let entry = |known: &Description| {
        let Description { name, columns, meaning, sql } = known;
        let columns: Vec<String> = columns.iter().map(|column| format!("`{column}`")).collect();
        format!("\n## {name}\n\n{meaning}\n\nColumns: {}.\n\n```sql\n{sql}\n```\n", columns.join(", "))
    };
    let list: String = describe_statistics().iter().map(entry).collect();
    let text = std::fs::read_to_string(&path).unwrap();
    let introduction = text.split("\n## ").next().unwrap();
    let expected = format!("{introduction}{list}");
    if std::env::var_os("WEIR_WRITE_DOCS").is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    assert!(text == expected, "docs/statistics.md is out of date; regenerate it with WEIR_WRITE_DOCS=1");
}
