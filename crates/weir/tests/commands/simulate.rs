//! Tests of `weir simulate`.

use std::fs;
use std::process::{Command, Output};

fn weir(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_weir")).args(arguments).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

const SMALL: [&str; 6] = ["simulate", "--synthetic", "--pages", "1500", "--sites", "30"];

#[test]
fn one_json_object_per_strategy_deterministic_by_seed() {
    let arguments =
        [&SMALL[..], &["--json", "--strategy", "wire,omniscient,estimated,optimal-refresh"]].concat();
    let output = weir(&arguments);
    assert!(output.status.success());
    assert_eq!(stdout(&output), stdout(&weir(&arguments)), "the same seed gives the same results");
    let objects: Vec<serde_json::Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<&str> = objects.iter().map(|object| object["strategy"].as_str().unwrap()).collect();
    assert_eq!(names, ["wire", "omniscient", "estimated", "optimal-refresh"]);
    let number = |index: usize, name: &str| objects[index][name].as_f64();
    let fields = [
        "pagerank_at_10",
        "pagerank_at_20",
        "pagerank_at_50",
        "top_inlinks_share",
        "kendall_tau",
        "freshness",
        "age_days",
        "requests",
    ];
    assert!(fields.iter().all(|name| number(0, name).is_some()), "{}", objects[0]);
    assert_eq!(number(1, "relative_auc"), Some(1.0));
    assert!(number(0, "relative_auc").is_some_and(|auc| auc > 0.85 && auc <= 1.01), "{}", objects[0]);
    assert!(number(0, "seconds_to_half") < number(0, "seconds_to_all"), "{}", objects[0]);
    assert!(objects[1]["freshness"].is_null() && objects[2]["relative_auc"].is_null());
    assert!(number(2, "freshness") < number(3, "freshness"), "the oracle is the upper bound");
}

#[test]
fn the_table_is_printed_and_files_are_written() {
    let temp = tempfile::tempdir().unwrap();
    let out = temp.path().join("a/b");
    let arguments =
        [&SMALL[..], &["--strategy", "wire,random,uniform", "--out", out.to_str().unwrap()]].concat();
    let output = weir(&arguments);
    assert!(output.status.success(), "{output:?}");
    let table = stdout(&output);
    let heading: Vec<&str> = table.lines().nth(2).unwrap().split_whitespace().collect();
    assert_eq!(heading[..2], ["strategy", "AUC"]);
    assert!(
        table.starts_with("Simulation on a synthetic graph (1,5") && table.contains("\nuniform "),
        "{table}"
    );
    let read = |name: &str| fs::read_to_string(out.join(name)).unwrap();
    assert_eq!(read("table.csv").lines().count(), 4);
    assert!(read("curves.csv").starts_with("strategy,downloaded,pagerank\nwire,0.000000,0.000000\n"));
    for name in ["order.svg", "lag.svg", "area.svg", "freshness.svg"] {
        assert!(
            read(name).starts_with("<svg xmlns=") && read("comparison.html").contains(&read(name)),
            "{name}"
        );
    }
    assert!(!read("comparison.html").contains("src="), "the page is not self-contained");
}

#[test]
fn the_graph_of_a_collection_can_be_used() {
    let temp = tempfile::tempdir().unwrap();
    let web = temp.path().join("web");
    let demo = weir(&["demo", web.to_str().unwrap(), "--sites", "8", "--pages", "200"]);
    assert!(demo.status.success(), "{demo:?}");
    let output = weir(&["simulate", web.to_str().unwrap(), "--strategy", "wire,breadth-first", "--json"]);
    assert!(output.status.success(), "{output:?}");
    for line in stdout(&output).lines() {
        let object: serde_json::Value = serde_json::from_str(line).unwrap();
        let auc = object["relative_auc"].as_f64().unwrap();
        assert!(auc > 0.5 && auc <= 1.05, "{object}");
    }
}

/// Results of strategies on a collection.
fn results(web: &str, more: &[&str]) -> Vec<serde_json::Value> {
    let output = weir(&[&["simulate", web, "--json"], more].concat());
    assert!(output.status.success(), "{output:?}");
    stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_strategy_configured_uses_the_settings_of_the_collection() {
    let temp = tempfile::tempdir().unwrap();
    let web = temp.path().join("web");
    let web = web.to_str().unwrap();
    let demo = weir(&["demo", web, "--sites", "8", "--pages", "200"]);
    assert!(demo.status.success(), "{demo:?}");
    let file = temp.path().join("web/weir.toml");
    let set = |settings: &str| fs::write(&file, settings).unwrap();
    let configured = || results(web, &["--strategy", "configured", "--batch-pages", "5"]).remove(0);
    set("");
    let all = results(web, &["--batch-pages", "5"]);
    assert_eq!((&all[0]["strategy"], &all[1]["strategy"]), (&"configured".into(), &"wire".into()));
    assert_eq!(all[0]["relative_auc"], all[1]["relative_auc"], "the settings are the defaults");
    set("[quality]\nweights = { random = 1.0 }\n");
    let random = configured();
    assert_ne!(random["relative_auc"], all[0]["relative_auc"]);
    set("[quality]\nweights = { random = 1.0 }\n[revisit]\nmin_interval_ok = \"1h\"\n");
    let often = configured();
    let requests = |result: &serde_json::Value| result["requests"].as_u64().unwrap();
    assert!(requests(&often) > requests(&random), "{often} {random}");
    set(
        "[quality]\nweights = { random = 1.0 }\nobjective = \"every-change\"\n[revisit]\nmin_interval_ok = \"1h\"\n",
    );
    let every_change = configured();
    assert_ne!(every_change["freshness"], often["freshness"]);
    let freshness =
        results(web, &["--strategy", "configured", "--batch-pages", "5", "--objective", "freshness"])
            .remove(0);
    assert_eq!(freshness, often, "the option overrides the setting");
    set("[quality]\nweights = { relevance = 1.0 }\n");
    assert_eq!(
        results(web, &["--batch-pages", "5"])[0]["strategy"],
        "wire",
        "an impossible strategy is skipped"
    );
    let output = weir(&["simulate", web, "--strategy", "configured"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.code() == Some(2) && error.contains("`configured`") && error.contains("relevance"),
        "{error}"
    );
}

#[test]
fn usage_errors_have_exit_code_2() {
    let temp = tempfile::tempdir().unwrap();
    let no_collection = temp.path().to_str().unwrap();
    let documents = tempfile::tempdir().unwrap();
    std::fs::write(documents.path().join("table.csv"), "of a user").unwrap();
    let documents = documents.path().to_str().unwrap();
    let cases: [(&[&str], &str); 9] = [
        (&["simulate", "--synthetic", "--out", documents], "has other files than those of `weir simulate`"),
        (&["simulate"], "required"),
        (&["simulate", "web", "--synthetic"], "cannot be used with"),
        (
            &["simulate", "--synthetic", "--strategy", "depth-first"],
            "unknown strategy `depth-first`; strategies: wire,",
        ),
        (&["simulate", "--synthetic", "--strategy", "focused"], "needs the texts of pages"),
        (&["simulate", "--synthetic", "--strategy", "configured"], "needs a collection"),
        (&["simulate", "--synthetic", "--pages", "0"], "0 is not in"),
        (&["simulate", "--synthetic", "--requests-per-change", "0"], "out of range"),
        (&["simulate", no_collection], "is not a Weir collection"),
    ];
    for (arguments, message) in cases {
        let output = weir(arguments);
        let error = String::from_utf8(output.stderr.clone()).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(message), "{arguments:?}: {error}");
    }
}

#[test]
fn help_shows_examples_and_all_strategies() {
    let help = stdout(&weir(&["simulate", "--help"]));
    for word in
        ["Examples:", "--synthetic", "bfs-larger-sites", "partial-pagerank", "omniscient", "optimal-refresh"]
    {
        assert!(help.contains(word), "{word}: {help}");
    }
}
