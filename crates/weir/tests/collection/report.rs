//! `weir report`, as its readers see it.

use std::fs;
use std::path::Path;

use report::{Drawing, catalogue};

use super::{objects, sample, told};

#[test]
fn every_figure_shows_a_statistic_that_has_its_columns() {
    let described = analysis::describe_statistics();
    for figure in catalogue().unwrap() {
        let known = described.iter().find(|known| known.name == figure.statistic);
        let known = known.unwrap_or_else(|| panic!("{} shows nothing that is computed", figure.name));
        for column in figure.draw.columns() {
            assert!(known.columns.iter().any(|name| name == column), "{}: no column {column}", figure.name);
        }
    }
}

#[test]
fn every_statistic_is_shown() {
    let figures = catalogue().unwrap();
    for known in analysis::describe_statistics() {
        assert!(
            figures.iter().any(|figure| figure.statistic == known.name),
            "{} is in no figure",
            known.name
        );
    }
}

/// The page, which needs nothing else and shows nothing that is no number.
fn page(folder: &Path) -> String {
    let page = fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(
        !page.contains("src=") && !page.contains("<link") && !page.contains("@import"),
        "it needs nothing else"
    );
    for wrong in ["NaN", ">inf", "no data"] {
        assert!(!page.contains(wrong), "{wrong}");
    }
    assert!(page.len() < 5_000_000);
    page
}

#[test]
fn a_page_with_its_data_and_pictures() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    drop(sample::make(&dir.join("c"), 2));
    let answer = &objects(dir, &["report", "DIR/c"])[0];
    let out = dir.join("c-report");
    assert_eq!(answer["page"], "DIR/c-report/report.html");
    let page = page(&out);
    for link in page.split("href=\"data/").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert!(out.join("data").join(link).exists(), "{link}");
    }
    for figure in catalogue().unwrap() {
        assert!(page.contains(&format!("id=\"{}\"", figure.name)), "{}", figure.name);
        let is_picture = !matches!(figure.draw, Drawing::Table(_) | Drawing::Summary(_));
        let picture = out.join("figures").join(&figure.name).with_extension("svg");
        assert!(is_picture || !picture.exists(), "{}", figure.name);
    }
    let picture = fs::read_to_string(out.join("figures/status-codes.svg")).unwrap();
    assert!(picture.starts_with("<svg"), "{picture}");
    let codes = fs::read_to_string(out.join("data/status-codes.csv")).unwrap();
    assert_eq!(codes, "status,pages\n200,5\n404,1\n");
    assert!(page.contains("404 Not Found") && page.contains("83.3 %  (5)"), "shares are written");
    assert!(page.contains("select status as status, count(*) as pages from pages"), "with the query");
    assert!(fs::read_to_string(out.join("report.typ")).unwrap().contains("figures/status-codes.svg"));
}

#[test]
fn a_collection_without_anything_is_told_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    drop(store::Collection::create(&dir.join("c"), store::StoreSettings::default()).unwrap());
    let answer = &objects(dir, &["report", "DIR/c", "--out", "DIR/out"])[0];
    let page = page(&dir.join("out"));
    assert!(!page.contains("<svg"), "no empty axes");
    assert!(page.contains("No page has been visited.") && page.contains("there were no revisits"));
    assert_eq!(answer["without_data"].as_u64().unwrap() + 2, answer["figures"].as_u64().unwrap());
}

#[test]
fn two_snapshots_stand_side_by_side() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let mut collection = sample::make(&dir.join("c"), 1);
    assert_eq!(told(dir, &["snapshots", "DIR/c", "--keep", "spring"]).0, 0);
    assert_eq!(told(dir, &["analyze", "DIR/c"]).0, 0);
    let (code, _, err) = told(dir, &["report", "DIR/c", "--against", "autumn"]);
    assert!(code == 2 && err.contains("there is no snapshot autumn"), "{err}");
    let pages: Vec<model::PageId> = (0..6).map(model::PageId).collect();
    sample::visit(&mut collection, &pages, 7);
    collection.commit(1_794_800_000_000).unwrap();
    assert_eq!(
        told(dir, &["report", "DIR/c", "--against", "spring"]).0,
        0,
        "it was analysed when it was new"
    );
    let page = page(&dir.join("c-report"));
    assert!(page.contains("<h1>c against spring</h1>") && page.contains("class=\"key against\""));
    assert!(dir.join("c-report/data/status-codes-against.csv").exists());
}

#[test]
fn what_cannot_be_reported_is_told_in_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    drop(sample::make(&dir.join("c"), 1));
    fs::write(dir.join("file"), "").unwrap();
    let refused = |arguments: &[&str]| {
        let (code, out, err) = told(dir, &[&["report"], arguments].concat());
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        err
    };
    assert!(refused(&["DIR/nowhere"]).contains("DIR/nowhere"));
    assert!(refused(&["DIR/c", "--out", "DIR/file"]).contains("is a file"));
    if !report::CAN_PRINT {
        assert!(refused(&["DIR/c", "--pdf"]).contains("--features pdf"));
    }
}

#[test]
#[cfg(feature = "pdf")]
fn a_report_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    drop(sample::make(&dir.join("c"), 2));
    let answer = &objects(dir, &["report", "DIR/c", "--pdf"])[0];
    assert_eq!(answer["pdf"], "DIR/c-report/report.pdf");
    let printed = fs::read(dir.join("c-report/report.pdf")).unwrap();
    assert!(printed.starts_with(b"%PDF-") && printed.len() > 50_000, "{} bytes", printed.len());
}
