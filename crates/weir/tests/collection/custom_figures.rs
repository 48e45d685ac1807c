//! Custom figures of a report, in builds with and without SQL.

use std::fs;
use std::path::Path;

use super::{run_text, sample};

/// The complete example of docs/report.md.
fn example() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/report.md");
    let text = fs::read_to_string(path).unwrap();
    text.split_once("```sql\n").unwrap().1.split("```").next().unwrap().to_owned()
}

/// Creates a collection in `c` with these figures.
fn collection(figures: &[(&str, &str)]) -> tempfile::TempDir {
    let temp = tempfile::tempdir().unwrap();
    drop(sample::make(&temp.path().join("c"), 2));
    let figures_dir = temp.path().join("c/figures");
    fs::create_dir(&figures_dir).unwrap();
    for (name, text) in figures {
        fs::write(figures_dir.join(name), text).unwrap();
    }
    temp
}

#[cfg(not(feature = "sql"))]
#[test]
fn custom_figures_without_sql_are_skipped_with_a_warning() {
    let temp = collection(&[("https-by-tld.sql", &example()), (".swap.sql", ""), ("notes.txt", "")]);
    let (code, _, err) = run_text(temp.path(), &["report", "DIR/c"]);
    let message = "weir: 1 custom figure skipped: this build has no SQL support (`--features sql`)\n";
    assert_eq!((code, err.as_str()), (0, message));
    let page = fs::read_to_string(temp.path().join("c-report/report.html")).unwrap();
    assert!(!page.contains("https-by-tld"));
}

#[cfg(feature = "sql")]
mod engine {
    use std::process::Command;

    use super::*;
    use crate::objects;

    #[test]
    fn custom_figures_of_sql_follow_those_of_their_section() {
        let table = "-- section = \"pages\"\n-- title = \"Languages\"\n-- empty = \"No languages.\"\n-- [draw.table]\n\
            -- columns = [{ column = \"language\", title = \"of\" }]\nselect language from documents";
        let temp = collection(&[("https-by-tld.sql", &example()), ("no-languages.sql", table)]);
        let dir = temp.path();
        let output = &objects(dir, &["report", "DIR/c"])[0];
        assert_eq!(output["figures"], report::figures().unwrap().len() + 2);
        let out = dir.join("c-report");
        let csv = fs::read_to_string(out.join("data/https-by-tld.csv")).unwrap();
        assert_eq!(csv, "tld,https,pages\ntest,0.6,5\n");
        let page = fs::read_to_string(out.join("report.html")).unwrap();
        let position = |id: &str| page.find(&format!("<section id=\"{id}\">")).unwrap();
        assert!(position("top-domains") < position("https-by-tld"));
        assert!(position("https-by-tld") < position("structure-pages"));
        let figure = &page[position("https-by-tld")..position("structure-pages")];
        for part in [
            "<svg",
            "60 %",
            "in the ten top-level domains",
            "where fetch_status = 200",
            "href=\"data/https-by-tld.csv\"",
        ] {
            assert!(figure.contains(part), "{part}: {figure}");
        }
        assert!(!figure.contains("-- section"), "only the query is shown");
        assert!(page.contains("No languages."));
        assert!(fs::read_to_string(out.join("figures/https-by-tld.svg")).unwrap().contains("60 %"));
        assert!(fs::read_to_string(out.join("report.typ")).unwrap().contains("figures/https-by-tld.svg"));
    }

    #[test]
    fn custom_figures_of_sql_are_compared_side_by_side() {
        let temp = collection(&[("https-by-tld.sql", &example())]);
        let dir = temp.path();
        drop(store::Collection::create(&dir.join("d"), store::StoreSettings::default()).unwrap());
        let (code, _, err) = run_text(dir, &["report", "DIR/d", "--compare", "DIR/c"]);
        assert_eq!((code, err.as_str()), (0, ""), "the figures are those of the first collection");
        assert!(!dir.join("d-report/data/https-by-tld-compared.csv").exists());
        fs::rename(dir.join("c/figures"), dir.join("d/figures")).unwrap();
        let (code, _, err) = run_text(dir, &["report", "DIR/d", "--compare", "DIR/c"]);
        assert_eq!((code, err.as_str()), (0, ""), "a collection without rows is queried too");
        let csv = fs::read_to_string(dir.join("d-report/data/https-by-tld-compared.csv")).unwrap();
        assert_eq!(csv, "tld,https,pages\ntest,0.6,5\n");
        fs::rename(dir.join("d/figures"), dir.join("c/figures")).unwrap();
        assert_eq!(run_text(dir, &["snapshots", "DIR/c", "--create", "spring"]).0, 0);
        let (code, _, err) = run_text(dir, &["report", "DIR/c", "--compare", "spring"]);
        assert_eq!((code, err.as_str()), (0, ""));
        let page = fs::read_to_string(dir.join("c-report/report.html")).unwrap();
        assert!(page.contains("cannot be queried"), "a snapshot has no tables");
    }

    #[test]
    fn invalid_custom_figures_of_sql_are_reported_before_the_analysis() {
        let example = example();
        let many = example.replace("from pages", "from pages, generate_series(1, 20000)");
        let many = many.replace("group by 1\norder by 3 desc, 1\nlimit 10", "group by 1, value");
        for (name, text, message) in [
            ("a.sql", example.replace("title", "titel"), "line 2: unknown field `titel`"),
            (
                "a.sql",
                example.replace("\"bars", "\"bras").replace("draw.bars", "draw.bras"),
                "unknown variant",
            ),
            ("a.sql", example.replace("status = 200", "statsu = 200"), "at line 16, column 7"),
            ("a.sql", example.replace("from pages", "from nowhere"), "unknown table `nowhere`"),
            ("a.sql", example.replace("group by 1", "grup by 1"), "invalid query at line 17"),
            (
                "a.sql",
                example.replace("as https", "as http"),
                "the query does not return `https`, only tld, http, pages",
            ),
            ("a.sql", format!("{example};select 1"), "2 queries; a figure needs exactly one"),
            ("a.sql", example.split("select").next().unwrap().to_owned(), "no query"),
            ("a.sql", format!("{example}{}", " ".repeat(64 << 10)), "larger than 65536 bytes"),
            ("languages.sql", example.clone(), "the name is already used"),
            ("A B.sql", example.clone(), "a name consists of"),
        ] {
            let temp = collection(&[(name, &text)]);
            let dir = temp.path();
            let (code, out, err) = run_text(dir, &["report", "DIR/c"]);
            assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{message}: {err}");
            assert!(err.starts_with(&format!("weir: DIR/c/figures/{name}: ")), "{err}");
            assert!(err.contains(message), "{message}: {err}");
            assert!(!dir.join("c/parquet/pages").exists() && !dir.join("c-report").exists(), "{message}");
        }
        let temp = collection(&[("a.sql", &many)]);
        let (code, _, err) = run_text(temp.path(), &["report", "DIR/c"]);
        assert!(code == 2 && err.contains("exceeds 10,000 rows"), "{err}");
        let dir = temp.path();
        assert!(
            dir.join("c/parquet/pages").exists() && !dir.join("c-report").exists(),
            "the size of a result is known only after the analysis"
        );
    }

    #[test]
    fn ctrl_c_works_after_the_queries_of_custom_figures() {
        let temp = collection(&[("https-by-tld.sql", &example())]);
        let out = temp.path().join("c-report");
        fs::create_dir(&out).unwrap();
        let mark = format!("<meta name=\"generator\" content=\"{}\">", report::GENERATOR);
        fs::write(out.join("report.html"), mark).unwrap();
        // A pipe without a reader: the report blocks here after its queries.
        let source = out.join("report.typ");
        assert!(Command::new("mkfifo").arg(&source).status().unwrap().success());
        let mut child = Command::new(env!("CARGO_BIN_EXE_weir"))
            .arg("report")
            .arg(temp.path().join("c"))
            .spawn()
            .unwrap();
        while !out.join("data").exists() {
            assert!(child.try_wait().unwrap().is_none(), "the report ended before it wrote a file");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let killed = Command::new("kill").arg("-INT").arg(child.id().to_string()).status().unwrap();
        assert!(killed.success());
        assert_eq!(child.wait().unwrap().code(), Some(130));
    }
}
