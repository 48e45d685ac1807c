//! The PDF report: figures as vectors, and texts that are escaped.
#![cfg(feature = "pdf")]

use report::{Report, ReportInput};
use store::Statistic;

#[test]
fn a_report_and_its_figures_are_written_as_pdf() {
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
    let input =
        ReportInput { name: "web".to_owned(), statistics: vec![languages, sites], ..ReportInput::default() };
    let report = Report::new("A \"#[report]\"", vec![input], Vec::new(), |_| None).unwrap();
    let dir = tempfile::tempdir().unwrap();
    report.write(dir.path()).unwrap();
    let path = report.write_pdf(dir.path()).unwrap();
    for path in [path, dir.path().join("figures/languages.pdf")] {
        let bytes = std::fs::read(&path).unwrap();
        assert!(bytes.starts_with(b"%PDF-") && bytes.len() > 2_000, "{}", path.display());
    }
    assert!(!dir.path().join("figures/status-codes.pdf").exists(), "no data");
}
