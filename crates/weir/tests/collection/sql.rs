//! `weir sql`, built with the engine and without.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{objects, sample, told};

/// What `weir` says to a text on its standard input.
fn told_of_input(folder: &Path, arguments: &[&str], input: &str) -> (i32, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_weir"))
        .args(arguments.iter().map(|argument| argument.replace("DIR", folder.to_str().unwrap())))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().replace(folder.to_str().unwrap(), "DIR");
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn sql_tables_are_listed_with_what_their_columns_mean() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
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
    assert_eq!(url["description"], "The canonical URL.");
    assert_eq!(find("links", "rel")["nullable"], true);
    // The sample parses nothing: the table is there all the same.
    assert_eq!(find("documents", "title")["rows"], 0);
    let (code, out, err) = told(dir, &["sql", "DIR", "--schema"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("\nfetches  12 rows\n  url_surtkey "), "{out}");
    assert!(out.lines().any(|line| line.ends_with(" varchar                   The canonical URL.")), "{out}");
}

#[test]
fn sql_of_something_that_is_no_collection_is_wrong_use() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [&["sql", "DIR", "select 1"][..], &["sql", "DIR", "--schema"]] {
        let (code, out, err) = told(folder.path(), arguments);
        assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{err}");
    }
    drop(sample::make(folder.path(), 1));
    let (code, _, err) = told(folder.path(), &["sql", "DIR", "select 1", "--csv", "--json"]);
    assert_eq!((code, err.lines().count()), (2, 1), "{err}");
    let (code, _, err) = told(folder.path(), &["sql", "DIR", "--file", "DIR/nowhere.sql"]);
    assert_eq!((code, err.lines().count()), (2, 1), "{err}");
}

#[cfg(not(feature = "sql"))]
#[test]
fn sql_without_the_engine_says_how_to_get_it_and_how_to_ask_duckdb() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    drop(sample::make(dir, 1));
    let expected = "weir: this weir was built without SQL: build it with `cargo build --release --features sql`, \
        or ask DuckDB; some tables are made by `weir analyze DIR`:\n\
        duckdb -c \"create view fetches as from 'DIR/parquet/fetches/*.parquet'; select \\\"url\\\" from fetches\"\n";
    let query = "select \"url\" from fetches\n";
    let answers = [told(dir, &["sql", "DIR", query]), told_of_input(dir, &["sql", "DIR", "-"], query)];
    for answer in answers {
        assert_eq!(answer, (2, String::new(), expected.to_owned()));
    }
}

#[cfg(feature = "sql")]
mod engine {
    use std::fs;

    use super::*;

    fn collection() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        drop(sample::make(folder.path(), 2));
        folder
    }

    #[test]
    fn sql_answers_come_as_a_table_as_json_and_as_csv() {
        let folder = collection();
        let dir = folder.path();
        let query = "select url as page, count(*) as visits, max(url_port) as port from fetches \
                     where url like 'http:%' group by 1 order by 1";
        let (code, out, err) = told(dir, &["sql", "DIR", query]);
        assert_eq!(code, 0, "{err}");
        assert_eq!(
            out,
            "page                          visits  port\n\
             ----------------------------  ------  ----\n\
             http://b.test:8080/                2  null\n\
             http://b.test:8080/copy.html       2  null\n\
             http://b.test:8080/gone            2  null\n"
        );
        assert!(err.starts_with("3 rows, ") && err.ends_with(" s\n"), "{err}");
        let rows = objects(dir, &["sql", "DIR", query]);
        let first = serde_json::json!({"page": "http://b.test:8080/", "visits": 2, "port": null});
        assert_eq!((rows.len(), &rows[0]), (3, &first));
        let (code, out, err) = told(dir, &["sql", "DIR", query, "--csv"]);
        assert_eq!((code, err.as_str()), (0, ""));
        assert!(out.starts_with("page,visits,port\nhttp://b.test:8080/,2,\n"), "{out}");
    }

    #[test]
    fn sql_queries_come_from_the_command_line_a_file_or_standard_input() {
        let folder = collection();
        let dir = folder.path();
        let queries = "select 1 as a; -- two\nselect 'x;y' as b;";
        let expected = (0, "a\n1\n\nb\nx;y\n".to_owned(), String::new());
        fs::write(dir.join("two.sql"), queries).unwrap();
        assert_eq!(told(dir, &["sql", "DIR", "--csv", queries]), expected);
        assert_eq!(told(dir, &["sql", "DIR", "--csv", "--file", "DIR/two.sql"]), expected);
        assert_eq!(told_of_input(dir, &["sql", "DIR", "--csv"], queries), expected);
        assert_eq!(told_of_input(dir, &["sql", "DIR", "--csv", "-"], queries), expected);
        let (code, _, err) = told_of_input(dir, &["sql", "DIR"], " ;\n-- nothing\n");
        assert!(code == 2 && err.starts_with("weir: there is no query"), "{err}");
    }

    #[test]
    fn sql_tables_can_be_described_and_plans_explained() {
        let folder = collection();
        let dir = folder.path();
        let described = objects(dir, &["sql", "DIR", "describe sites"]);
        assert_eq!(described[0]["column_name"], "site_id");
        let tables = objects(dir, &["sql", "DIR", "show tables"]);
        assert!(tables.iter().any(|table| table["table_name"] == "links"), "{tables:?}");
        assert!(!objects(dir, &["sql", "DIR", "explain select count(*) from links"]).is_empty());
        // Nothing was parsed, and that is an answer too.
        assert_eq!(objects(dir, &["sql", "DIR", "select count(*) as n from documents"])[0]["n"], 0);
    }

    #[test]
    fn sql_that_is_no_query_is_refused_and_does_nothing() {
        let folder = collection();
        let dir = folder.path();
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
            let (code, out, err) = told(dir, &["sql", "DIR", statement]);
            assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{statement}: {err}");
            assert!(err.contains("only queries are answered"), "{statement}: {err}");
        }
        // It has the form of a query.
        let (code, _, err) = told(dir, &["sql", "DIR", "select 1 as a into t"]);
        assert!(code == 2 && err.contains("not `SELECT 1 AS a INTO t`"), "{err}");
        assert!(!dir.join("copied.parquet").exists() && !dir.join("copied.csv").exists());
    }

    #[test]
    fn sql_that_is_wrong_is_told_in_one_sentence_with_its_place() {
        let folder = collection();
        let dir = folder.path();
        let deep = format!("select {}1{}", "(".repeat(10_000), ")".repeat(10_000));
        let long = format!("select {}1", "1 + ".repeat(100_000));
        for (query, sentence) in [
            ("select * from pages", "there is no table `pages` yet: run `weir analyze DIR` first"),
            (
                "select * from Nowhere",
                "there is no table `nowhere`; there are documents, fetches, links, sites",
            ),
            ("select url\nfrom fetches\nwhere ulr = 1", "at line 3, column 7"),
            ("select url frm fetches where", "at line 1, column "),
            ("select lenght(url) from fetches", "lenght"),
            ("select 1 as a, 2 as a from", "the query is wrong"),
            ("select 'a", "the query is wrong"),
            (deep.as_str(), "the query is wrong"),
            ("select * from 'DIR/MANIFEST'", "there is no table"),
        ] {
            let (code, out, err) = told(dir, &["sql", "DIR", query]);
            assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{query:.60}: {err}");
            assert!(err.contains(sentence), "{query:.60}: {err}");
        }
        let exclusive = format!("select {}true", "true xor ".repeat(100_000));
        let crossed = format!("select 1 from {}sites as s", "sites, ".repeat(100_000));
        for deep in [&long, &exclusive, &crossed] {
            let (code, _, err) = told_of_input(dir, &["sql", "DIR"], deep);
            assert!(code == 2 && err.contains("more than 500 operators"), "{code}: {err:.200}");
        }
        let sum = format!("select {}1 as sum", "1 + ".repeat(499));
        assert_eq!(objects(dir, &["sql", "DIR", &sum])[0]["sum"], 500);
        let list =
            format!("select count(*) as n from links where source_page_id in ({}0)", "7, ".repeat(20_000));
        assert_eq!(objects(dir, &["sql", "DIR", &list])[0]["n"], 10);
        let (code, _, err) = told(dir, &["sql", "DIR", "select cast(url as int) from fetches"]);
        assert_eq!((code, err.lines().count()), (1, 1), "{err}");
    }

    #[test]
    fn sql_that_does_not_fit_into_memory_goes_to_the_disk_and_nothing_stays_there() {
        let folder = collection();
        let dir = folder.path();
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
            assert!(child.try_wait().unwrap().is_none(), "it ended before it put anything aside");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let killed = Command::new("kill").arg("-INT").arg(child.id().to_string()).status().unwrap();
        assert!(killed.success());
        assert_eq!(child.wait().unwrap().code(), Some(130));
        assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0);
    }

    /// What files below a folder have together; some may go meanwhile.
    fn bytes_below(folder: &Path) -> u64 {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries
            .map(|entry| match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => bytes_below(&entry.path()),
                Ok(metadata) => metadata.len(),
                Err(_) => 0,
            })
            .sum()
    }

    #[test]
    fn sql_reads_what_was_committed_while_others_write() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        let mut collection = sample::make(dir, 1);
        let tables = sql::open_tables(dir).unwrap();
        let pages: Vec<_> = (0..6).map(model::PageId).collect();
        // Enough commits for the first one and its files to go.
        for version in 1..40 {
            sample::visit(&mut collection, &pages, version);
            collection.commit(0).unwrap();
        }
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let settings = sql::EngineSettings { memory_bytes: 1 << 30, cores: 2, spill_folder: dir.to_owned() };
        let rows = runtime.block_on(async {
            let engine = sql::Engine::open(dir, tables, settings).await.unwrap();
            let query = sql::Query::read_all("select count(distinct url), count(*) from fetches").unwrap();
            engine.ask(&query[0]).await.unwrap().next().await.unwrap().unwrap().csv().unwrap()
        });
        assert_eq!(String::from_utf8(rows).unwrap(), "6,6\n");
        assert_eq!(objects(dir, &["sql", "DIR", "select count(*) as n from fetches"])[0]["n"], 240);
    }
}
