//! `weir sql`, in builds with and without the engine.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{objects, run_text, sample};

/// Runs `weir` with a text on standard input.
fn run_text_with_input(dir: &Path, arguments: &[&str], input: &str) -> (i32, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_weir"))
        .args(arguments.iter().map(|argument| argument.replace("DIR", dir.to_str().unwrap())))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().replace(dir.to_str().unwrap(), "DIR");
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn sql_tables_are_listed_with_the_meaning_of_their_columns() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(dir, 2));
    let columns = objects(dir, &["sql", "DIR", "--schema"]);
    let find = |table: &str, column: &str| {
        columns.iter().find(|found| found["table"] == table && found["column"] == column).unwrap()
    };
    let url = find("fetches", "url");
    assert_eq!(
        (&url["rows"], &url["type"], &url["nullable"]),
        (&12.into(), &"varchar".into(), &false.into())
    );
    assert_eq!(url["description"], "Canonical URL.");
    assert_eq!(find("links", "rel")["nullable"], true);
    // The sample has no parsed documents; the table exists without rows.
    assert_eq!(find("documents", "title")["rows"], 0);
    let (code, out, err) = run_text(dir, &["sql", "DIR", "--schema"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("\nfetches  12 rows\n  url_surtkey "), "{out}");
    assert!(out.lines().any(|line| line.ends_with(" varchar                   Canonical URL.")), "{out}");
}

#[test]
fn sql_without_a_collection_is_a_usage_error() {
    let temp = tempfile::tempdir().unwrap();
    for arguments in [&["sql", "DIR", "select 1"][..], &["sql", "DIR", "--schema"]] {
        let (code, out, err) = run_text(temp.path(), arguments);
        assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{err}");
    }
    drop(sample::make(temp.path(), 1));
    let (code, _, err) = run_text(temp.path(), &["sql", "DIR", "select 1", "--csv", "--json"]);
    assert_eq!((code, err.lines().count()), (2, 1), "{err}");
    let (code, _, err) = run_text(temp.path(), &["sql", "DIR", "--file", "DIR/nowhere.sql"]);
    assert_eq!((code, err.lines().count()), (2, 1), "{err}");
}

#[cfg(not(feature = "sql"))]
#[test]
fn sql_without_the_engine_prints_the_duckdb_command() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(dir, 1));
    let expected = "weir: this build has no SQL support; build with `--features sql` or use DuckDB; some tables need \
        `weir analyze DIR`:\n\
        duckdb -c \"create view fetches as from 'DIR/parquet/fetches/*.parquet'; select \\\"url\\\" from fetches\"\n";
    let query = "select \"url\" from fetches\n";
    let outputs =
        [run_text(dir, &["sql", "DIR", query]), run_text_with_input(dir, &["sql", "DIR", "-"], query)];
    for output in outputs {
        assert_eq!(output, (2, String::new(), expected.to_owned()));
    }
}

#[cfg(feature = "sql")]
mod engine {
    use std::fs;

    use super::*;

    fn collection() -> tempfile::TempDir {
        let temp = tempfile::tempdir().unwrap();
        drop(sample::make(temp.path(), 2));
        temp
    }

    #[test]
    fn sql_results_are_printed_as_table_json_and_csv() {
        let temp = collection();
        let dir = temp.path();
        let query = "select url as page, count(*) as fetches, max(url_port) as port from fetches \
                     where url like 'http:%' group by 1 order by 1";
        let (code, out, err) = run_text(dir, &["sql", "DIR", query]);
        assert_eq!(code, 0, "{err}");
        assert_eq!(
            out,
            "page                          fetches  port\n\
             ----------------------------  -------  ----\n\
             http://b.test:8080/                 2  null\n\
             http://b.test:8080/copy.html        2  null\n\
             http://b.test:8080/gone             2  null\n"
        );
        assert!(err.starts_with("3 rows, ") && err.ends_with(" s\n"), "{err}");
        let rows = objects(dir, &["sql", "DIR", query]);
        let first = serde_json::json!({"page": "http://b.test:8080/", "fetches": 2, "port": null});
        assert_eq!((rows.len(), &rows[0]), (3, &first));
        let (code, out, err) = run_text(dir, &["sql", "DIR", query, "--csv"]);
        assert_eq!((code, err.as_str()), (0, ""));
        assert!(out.starts_with("page,fetches,port\nhttp://b.test:8080/,2,\n"), "{out}");
    }

    #[test]
    fn text_that_a_spreadsheet_would_run_is_marked_in_csv_and_not_in_json() {
        let temp = collection();
        let dir = temp.path();
        let query = "select '=1+1' as a, -5 as b, '-3.5' as c, '@x,y' as d, null as e";
        let (code, out, err) = run_text(dir, &["sql", "DIR", query, "--csv"]);
        assert_eq!((code, out.as_str(), err.as_str()), (0, "a,b,c,d,e\n'=1+1,-5,-3.5,\"'@x,y\",\n", ""));
        assert_eq!(objects(dir, &["sql", "DIR", query])[0]["a"], "=1+1");
        let (_, out, _) = run_text(dir, &["sql", "DIR", "select null as e", "--csv"]);
        assert_eq!(out, "e\n\"\"\n");
    }

    #[test]
    fn sql_queries_are_read_from_the_command_line_a_file_or_standard_input() {
        let temp = collection();
        let dir = temp.path();
        let queries = "select 1 as a; -- two\nselect 'x;y' as b;";
        let expected = (0, "a\n1\n\nb\nx;y\n".to_owned(), String::new());
        fs::write(dir.join("two.sql"), queries).unwrap();
        assert_eq!(run_text(dir, &["sql", "DIR", "--csv", queries]), expected);
        assert_eq!(run_text(dir, &["sql", "DIR", "--csv", "--file", "DIR/two.sql"]), expected);
        assert_eq!(run_text_with_input(dir, &["sql", "DIR", "--csv"], queries), expected);
        assert_eq!(run_text_with_input(dir, &["sql", "DIR", "--csv", "-"], queries), expected);
        let (code, _, err) = run_text_with_input(dir, &["sql", "DIR"], " ;\n-- nothing\n");
        assert!(code == 2 && err.starts_with("weir: no query"), "{err}");
    }

    #[test]
    fn sql_tables_can_be_described_and_plans_explained() {
        let temp = collection();
        let dir = temp.path();
        let described = objects(dir, &["sql", "DIR", "describe site_log"]);
        assert_eq!(described[0]["column_name"], "site_id");
        let tables = objects(dir, &["sql", "DIR", "show tables"]);
        assert!(tables.iter().any(|table| table["table_name"] == "links"), "{tables:?}");
        assert!(!objects(dir, &["sql", "DIR", "explain select count(*) from links"]).is_empty());
        // The sample has no parsed documents.
        assert_eq!(objects(dir, &["sql", "DIR", "select count(*) as n from documents"])[0]["n"], 0);
    }

    #[test]
    fn sql_statements_that_write_are_rejected() {
        let temp = collection();
        let dir = temp.path();
        for statement in [
            "create table t as select 1",
            "create view v as select 1",
            "create external table t stored as parquet location '/'",
            "insert into links select * from links",
            "delete from links",
            "drop table links",
            "copy links to 'DIR/copied.parquet'",
            "copy (select 1) to 'DIR/copied.csv'",
            "explain analyze insert into links select * from links",
            "set datafusion.execution.batch_size = 1",
            "select 1; drop table links",
        ] {
            let (code, out, err) = run_text(dir, &["sql", "DIR", statement]);
            assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{statement}: {err}");
            assert!(err.contains("not a query: "), "{statement}: {err}");
        }
        // It parses as a query.
        let (code, _, err) = run_text(dir, &["sql", "DIR", "select 1 as a into t"]);
        assert!(code == 2 && err.contains("not a query: `SELECT 1 AS a INTO t`"), "{err}");
        assert!(!dir.join("copied.parquet").exists() && !dir.join("copied.csv").exists());
    }

    #[test]
    fn sql_errors_are_one_line_with_their_position() {
        let temp = collection();
        let dir = temp.path();
        let deep = format!("select {}1{}", "(".repeat(10_000), ")".repeat(10_000));
        let long = format!("select {}1", "1 + ".repeat(100_000));
        for (query, message) in [
            ("select * from pages", "no table `pages`; run `weir analyze DIR`"),
            ("select * from Nowhere", "unknown table `nowhere`; tables: documents, fetches, links, site_log"),
            ("select url\nfrom fetches\nwhere ulr = 1", "at line 3, column 7"),
            ("select url frm fetches where", "at line 1, column "),
            ("select lenght(url) from fetches", "lenght"),
            ("select 1 as a, 2 as a from", "invalid query"),
            ("select 'a", "invalid query"),
            (deep.as_str(), "invalid query"),
            ("select * from 'DIR/MANIFEST'", "unknown table"),
        ] {
            let (code, out, err) = run_text(dir, &["sql", "DIR", query]);
            assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{query:.60}: {err}");
            assert!(err.contains(message), "{query:.60}: {err}");
        }
        let exclusive = format!("select {}true", "true xor ".repeat(100_000));
        let crossed = format!("select 1 from {}links as s", "links, ".repeat(100_000));
        for deep in [&long, &exclusive, &crossed] {
            let (code, _, err) = run_text_with_input(dir, &["sql", "DIR"], deep);
            assert!(code == 2 && err.contains("more than 500 operators"), "{code}: {err:.200}");
        }
        let sum = format!("select {}1 as sum", "1 + ".repeat(499));
        assert_eq!(objects(dir, &["sql", "DIR", &sum])[0]["sum"], 500);
        let list =
            format!("select count(*) as n from links where source_page_id in ({}0)", "7, ".repeat(20_000));
        assert_eq!(objects(dir, &["sql", "DIR", &list])[0]["n"], 10);
        let (code, _, err) = run_text(dir, &["sql", "DIR", "select cast(url as int) from fetches"]);
        assert_eq!((code, err.lines().count()), (1, 1), "{err}");
    }

    #[test]
    fn sql_that_exceeds_memory_spills_to_disk_and_removes_its_files() {
        let temp = collection();
        let dir = temp.path();
        fs::write(dir.join("weir.toml"), "[memory]\nanalysis = '1 MB'\n").unwrap();
        let temporary = tempfile::tempdir().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_weir"))
            .arg("sql")
            .arg(dir)
            .arg("select value from generate_series(1, 1000000000) order by value % 1000")
            .env("TMPDIR", temporary.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        while bytes_below(temporary.path()) < 1_000_000 {
            assert!(child.try_wait().unwrap().is_none(), "the query ended before it spilled to disk");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let killed = Command::new("kill").arg("-INT").arg(child.id().to_string()).status().unwrap();
        assert!(killed.success());
        assert_eq!(child.wait().unwrap().code(), Some(130));
        assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0);
    }

    /// Total size of the files below a directory, which may be deleted meanwhile.
    fn bytes_below(dir: &Path) -> u64 {
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        entries
            .map(|entry| match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => bytes_below(&entry.path()),
                Ok(metadata) => metadata.len(),
                Err(_) => 0,
            })
            .sum()
    }

    #[test]
    fn sql_reads_its_commit_during_later_commits() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path();
        let mut collection = sample::make(dir, 1);
        let tables = sql::open_tables(dir).unwrap();
        let pages: Vec<_> = (0..6).map(model::PageId).collect();
        // Enough commits for the first one and its files to be deleted.
        for version in 1..40 {
            sample::visit(&mut collection, &pages, version);
            collection.commit(0).unwrap();
        }
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let settings = sql::EngineSettings { memory_bytes: 1 << 30, threads: 2, spill_dir: dir.to_owned() };
        let rows = runtime.block_on(async {
            let engine = sql::Engine::open(dir, tables, settings).await.unwrap();
            let query = sql::Query::parse_all("select count(distinct url), count(*) from fetches").unwrap();
            engine.run(&query[0]).await.unwrap().next().await.unwrap().unwrap().cells().unwrap()
        });
        assert_eq!(rows, [[Some("6".to_owned()), Some("6".to_owned())]]);
        assert_eq!(objects(dir, &["sql", "DIR", "select count(*) as n from fetches"])[0]["n"], 240);
    }
}
