//! Figures of users' own in a report, built with SQL and without.

use std::fs;
use std::path::Path;

use super::{sample, told};

/// The complete example of docs/report.md.
fn example() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/report.md");
    let text = fs::read_to_string(path).unwrap();
    text.split_once("```sql\n").unwrap().1.split("```").next().unwrap().to_owned()
}

/// A collection in `c` with these figures.
fn collection(figures: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    drop(sample::make(&folder.path().join("c"), 2));
    let own = folder.path().join("c/figures");
    fs::create_dir(&own).unwrap();
    for (name, text) in figures {
        fs::write(own.join(name), text).unwrap();
    }
    folder
}

#[cfg(not(feature = "sql"))]
#[test]
fn own_figures_without_sql_are_left_out_and_that_is_said() {
    let folder = collection(&[("https-by-tld.sql", &example()), (".swap.sql", ""), ("notes.txt", "")]);
    let (code, _, err) = told(folder.path(), &["report", "DIR/c"]);
    let sentence = "weir: 1 figure in DIR/c/figures needs a weir that was built with `--features sql`, \
                    and the report goes without\n";
    assert_eq!((code, err.as_str()), (0, sentence));
    let page = fs::read_to_string(folder.path().join("c-report/report.html")).unwrap();
    assert!(!page.contains("https-by-tld"));
}

#[cfg(feature = "sql")]
mod engine {
    use std::process::Command;

    use super::*;
    use crate::objects;

    #[test]
    fn own_figures_of_sql_are_drawn_after_those_of_their_section() {
        let table = "-- section = \"pages\"\n-- title = \"Nobody\"\n-- empty = \"Nobody is here.\"\n-- [draw.table]\n\
            -- columns = [{ column = \"language\", title = \"of\" }]\nselect language from documents";
        let folder = collection(&[("https-by-tld.sql", &example()), ("nobody.sql", table)]);
        let dir = folder.path();
        let answer = &objects(dir, &["report", "DIR/c"])[0];
        assert_eq!(answer["figures"], report::catalogue().unwrap().len() + 2);
        let out = dir.join("c-report");
        let csv = fs::read_to_string(out.join("data/https-by-tld.csv")).unwrap();
        assert_eq!(csv, "tld,https,pages\ntest,0.6,5\n");
        let page = fs::read_to_string(out.join("report.html")).unwrap();
        let place = |id: &str| page.find(&format!("<section id=\"{id}\">")).unwrap();
        assert!(place("top-domains") < place("https-by-tld"));
        assert!(place("https-by-tld") < place("structure-pages"));
        let own = &page[place("https-by-tld")..place("structure-pages")];
        for part in [
            "<svg",
            "60 %",
            "in the ten top-level domains",
            "where status = 200",
            "href=\"data/https-by-tld.csv\"",
        ] {
            assert!(own.contains(part), "{part}: {own}");
        }
        assert!(!own.contains("-- section"), "the query alone is shown");
        assert!(page.contains("Nobody is here."));
        assert!(fs::read_to_string(out.join("figures/https-by-tld.svg")).unwrap().contains("60 %"));
        assert!(fs::read_to_string(out.join("report.typ")).unwrap().contains("figures/https-by-tld.svg"));
    }

    #[test]
    fn own_figures_of_sql_stand_side_by_side() {
        let folder = collection(&[("https-by-tld.sql", &example())]);
        let dir = folder.path();
        drop(store::Collection::create(&dir.join("d"), store::StoreSettings::default()).unwrap());
        let (code, _, err) = told(dir, &["report", "DIR/d", "--against", "DIR/c"]);
        assert_eq!((code, err.as_str()), (0, ""), "the figures are those of the first");
        assert!(!dir.join("d-report/data/https-by-tld-against.csv").exists());
        fs::rename(dir.join("c/figures"), dir.join("d/figures")).unwrap();
        let (code, _, err) = told(dir, &["report", "DIR/d", "--against", "DIR/c"]);
        assert_eq!((code, err.as_str()), (0, ""), "one without rows is asked too");
        let csv = fs::read_to_string(dir.join("d-report/data/https-by-tld-against.csv")).unwrap();
        assert_eq!(csv, "tld,https,pages\ntest,0.6,5\n");
        fs::rename(dir.join("d/figures"), dir.join("c/figures")).unwrap();
        assert_eq!(told(dir, &["snapshots", "DIR/c", "--keep", "spring"]).0, 0);
        let (code, _, err) = told(dir, &["report", "DIR/c", "--against", "spring"]);
        assert_eq!((code, err.as_str()), (0, ""));
        let page = fs::read_to_string(dir.join("c-report/report.html")).unwrap();
        assert!(page.contains("cannot be asked"), "a snapshot has no tables, and that is said");
    }

    #[test]
    fn own_figures_with_wrong_sql_are_told_before_anything_is_analysed() {
        let example = example();
        let many = example.replace("from pages", "from pages, generate_series(1, 20000)");
        let many = many.replace("group by 1\norder by 3 desc, 1\nlimit 10", "group by 1, value");
        for (name, text, sentence) in [
            ("a.sql", example.replace("title", "titel"), "line 2: unknown field `titel`"),
            (
                "a.sql",
                example.replace("\"bars", "\"bras").replace("draw.bars", "draw.bras"),
                "unknown variant",
            ),
            ("a.sql", example.replace("status = 200", "statsu = 200"), "at line 16, column 7"),
            ("a.sql", example.replace("from pages", "from nowhere"), "there is no table `nowhere`"),
            ("a.sql", example.replace("group by 1", "grup by 1"), "the query is wrong at line 17"),
            (
                "a.sql",
                example.replace("as https", "as http"),
                "draws `https`, and the query gives tld, http, pages",
            ),
            ("a.sql", format!("{example};select 1"), "it has 2 queries"),
            ("a.sql", example.split("select").next().unwrap().to_owned(), "there is no query"),
            ("a.sql", format!("{example}{}", " ".repeat(64 << 10)), "longer than 65536 bytes"),
            ("languages.sql", example.clone(), "its name is taken"),
            ("A B.sql", example.clone(), "its name has to be"),
        ] {
            let folder = collection(&[(name, &text)]);
            let dir = folder.path();
            let (code, out, err) = told(dir, &["report", "DIR/c"]);
            assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{sentence}: {err}");
            assert!(err.starts_with(&format!("weir: DIR/c/figures/{name}: ")), "{err}");
            assert!(err.contains(sentence), "{sentence}: {err}");
            assert!(!dir.join("c/parquet/pages").exists() && !dir.join("c-report").exists(), "{sentence}");
        }
        let folder = collection(&[("a.sql", &many)]);
        let (code, _, err) = told(folder.path(), &["report", "DIR/c"]);
        assert!(code == 2 && err.contains("more than 10,000 rows"), "{err}");
        let dir = folder.path();
        assert!(
            dir.join("c/parquet/pages").exists() && !dir.join("c-report").exists(),
            "that is found later"
        );
    }

    #[test]
    fn own_figures_of_sql_leave_ctrl_c_as_it_was() {
        let folder = collection(&[("https-by-tld.sql", &example())]);
        let out = folder.path().join("c-report");
        fs::create_dir(&out).unwrap();
        // Nobody reads it, so that the report waits here when all is asked.
        let page = out.join("report.html");
        assert!(Command::new("mkfifo").arg(&page).status().unwrap().success());
        let mut child = Command::new(env!("CARGO_BIN_EXE_weir"))
            .arg("report")
            .arg(folder.path().join("c"))
            .spawn()
            .unwrap();
        while !out.join("report.typ").exists() {
            assert!(child.try_wait().unwrap().is_none(), "it ended before it wrote anything");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let killed = Command::new("kill").arg("-INT").arg(child.id().to_string()).status().unwrap();
        assert!(killed.success());
        assert_eq!(child.wait().unwrap().code(), Some(130));
    }
}
