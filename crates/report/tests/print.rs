//! Is the PDF one? With the pictures as vectors, text that cannot break out, and nothing from outside.
#![cfg(feature = "pdf")]

use report::{Report, Side};
use store::Statistic;

#[test]
fn a_report_and_its_figures_are_printed() {
    let languages = Statistic {
        name: "languages".to_owned(),
        columns: vec!["language".to_owned(), "pages".to_owned()],
        rows: vec![vec!["en".into(), 7u64.into()], vec!["\"#[&<\\ 語".into(), 2u64.into()]],
        ..Statistic::default()
    };
    let sites = Statistic {
        name: "largest-sites".to_owned(),
        columns: vec!["site".to_owned(), "pages_fetched".to_owned()],
        rows: vec![vec!["http://a.test/\"#panic()".into(), 7u64.into()]],
        ..Statistic::default()
    };
    let side = Side { name: "web".to_owned(), statistics: vec![languages, sites], ..Side::default() };
    let report = Report::new("A \"#[report]\"", vec![side], Vec::new(), |_| None).unwrap();
    let folder = tempfile::tempdir().unwrap();
    report.write(folder.path()).unwrap();
    let path = report.print(folder.path()).unwrap();
    for path in [path, folder.path().join("figures/languages.pdf")] {
        let bytes = std::fs::read(&path).unwrap();
        assert!(bytes.starts_with(b"%PDF-") && bytes.len() > 2_000, "{}", path.display());
    }
    assert!(!folder.path().join("figures/status-codes.pdf").exists(), "nothing to show");
}
