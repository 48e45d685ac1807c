//! `weir report`.

use std::fs;
use std::path::Path;

use report::{Drawing, figures};

use super::{objects, run_text, sample};

#[test]
fn every_figure_uses_columns_of_a_statistic() {
    let described = analysis::describe_statistics();
    for figure in figures().unwrap() {
        let known = described.iter().find(|known| known.name == figure.statistic);
        let known = known.unwrap_or_else(|| panic!("{} uses an unknown statistic", figure.name));
        for column in figure.draw.columns() {
            assert!(
                known.columns.iter().any(|name| name == column),
                "{}: unknown column {column}",
                figure.name
            );
        }
    }
}

#[test]
fn every_statistic_is_in_a_figure() {
    let figures = figures().unwrap();
    for known in analysis::describe_statistics() {
        assert!(
            figures.iter().any(|figure| figure.statistic == known.name),
            "{} is in no figure",
            known.name
        );
    }
}

/// Reads the page and checks that it is self-contained and has only finite numbers.
fn page(dir: &Path) -> String {
    let page = fs::read_to_string(dir.join("report.html")).unwrap();
    assert!(
        !page.contains("src=") && !page.contains("<link") && !page.contains("@import"),
        "the page is not self-contained"
    );
    for wrong in ["NaN", ">inf", "no data"] {
        assert!(!page.contains(wrong), "{wrong}");
    }
    assert!(page.len() < 5_000_000);
    page
}

#[test]
fn the_report_is_written_with_its_data_and_figures() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(&dir.join("c"), 2));
    let output = &objects(dir, &["report", "DIR/c"])[0];
    let out = dir.join("c-report");
    assert_eq!(output["html"], "DIR/c-report/report.html");
    let page = page(&out);
    for link in page.split("href=\"data/").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert!(out.join("data").join(link).exists(), "{link}");
    }
    for figure in figures().unwrap() {
        assert!(page.contains(&format!("id=\"{}\"", figure.name)), "{}", figure.name);
        let is_picture = !matches!(figure.draw, Drawing::Table(_) | Drawing::Summary(_));
        let picture = out.join("figures").join(&figure.name).with_extension("svg");
        assert!(is_picture || !picture.exists(), "{}", figure.name);
    }
    let picture = fs::read_to_string(out.join("figures/status-codes.svg")).unwrap();
    assert!(picture.starts_with("<svg"), "{picture}");
    let codes = fs::read_to_string(out.join("data/status-codes.csv")).unwrap();
    assert_eq!(codes, "fetch_status,pages\n200,5\n404,1\n");
    assert!(page.contains("404 Not Found") && page.contains("83.3 %  (5)"), "shares are printed");
    assert!(
        page.contains("select fetch_status as fetch_status, count(*) as pages from pages"),
        "the query is shown"
    );
    assert!(fs::read_to_string(out.join("report.typ")).unwrap().contains("figures/status-codes.svg"));
}

#[test]
fn the_report_of_an_empty_collection_has_no_figures() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(store::Collection::create(&dir.join("c"), store::StoreSettings::default()).unwrap());
    let output = &objects(dir, &["report", "DIR/c", "--out", "DIR/out"])[0];
    let page = page(&dir.join("out"));
    assert!(!page.contains("<svg"), "no empty axes");
    assert!(page.contains("No page has been fetched.") && page.contains("there were no revisits"));
    assert_eq!(output["empty_figures"].as_u64().unwrap() + 2, output["figures"].as_u64().unwrap());
}

#[test]
fn two_snapshots_are_compared_side_by_side() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    let mut collection = sample::make(&dir.join("c"), 1);
    assert_eq!(run_text(dir, &["snapshots", "DIR/c", "--create", "spring"]).0, 0);
    assert_eq!(run_text(dir, &["analyze", "DIR/c"]).0, 0);
    let (code, _, err) = run_text(dir, &["report", "DIR/c", "--compare", "autumn"]);
    assert!(code == 2 && err.contains("no snapshot `autumn`"), "{err}");
    let pages: Vec<model::PageId> = (0..6).map(model::PageId).collect();
    sample::visit(&mut collection, &pages, 7);
    collection.commit(1_794_800_000_000).unwrap();
    assert_eq!(
        run_text(dir, &["report", "DIR/c", "--compare", "spring"]).0,
        0,
        "the snapshot was analysed before the next commit"
    );
    let page = page(&dir.join("c-report"));
    assert!(page.contains("<h1>c and spring</h1>") && page.contains("class=\"key compared\""));
    assert!(dir.join("c-report/data/status-codes-compared.csv").exists());
}

#[test]
fn a_missing_collection_and_a_wrong_output_are_usage_errors() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(&dir.join("c"), 1));
    fs::write(dir.join("file"), "").unwrap();
    let refused = |arguments: &[&str]| {
        let (code, out, err) = run_text(dir, &[&["report"], arguments].concat());
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        err
    };
    assert!(refused(&["DIR/nowhere"]).contains("DIR/nowhere"));
    assert!(refused(&["DIR/c", "--out", "DIR/file"]).contains("is not a directory"));
    fs::create_dir(dir.join("documents")).unwrap();
    fs::write(dir.join("documents/report.pdf"), "of a user").unwrap();
    assert!(
        refused(&["DIR/c", "--out", "DIR/documents"]).contains("has other files than those of `weir report`")
    );
    assert!(refused(&["DIR/c", "--out", "DIR/c"]).contains("use an empty or new directory"));
    assert_eq!(fs::read_to_string(dir.join("documents/report.pdf")).unwrap(), "of a user");
    for _ in 0..2 {
        assert_eq!(run_text(dir, &["report", "DIR/c", "--out", "DIR/out"]).0, 0, "a report is replaced");
    }
    if !report::HAS_PDF {
        assert!(refused(&["DIR/c", "--pdf"]).contains("--features pdf"));
    }
}

#[test]
#[cfg(feature = "pdf")]
fn a_report_is_written_as_pdf() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(&dir.join("c"), 2));
    let output = &objects(dir, &["report", "DIR/c", "--pdf"])[0];
    assert_eq!(output["pdf"], "DIR/c-report/report.pdf");
    let printed = fs::read(dir.join("c-report/report.pdf")).unwrap();
    assert!(printed.starts_with(b"%PDF-") && printed.len() > 50_000, "{} bytes", printed.len());
}
