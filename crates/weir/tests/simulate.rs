//! `weir simulate`, as its users and their scripts see it.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

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
fn one_object_for_each_strategy_and_always_the_same() {
    let arguments =
        [&SMALL[..], &["--json", "--strategy", "wire,omniscient,estimated,optimal-refresh"]].concat();
    let output = weir(&arguments);
    assert!(output.status.success());
    assert_eq!(stdout(&output), stdout(&weir(&arguments)), "the same seed gives the same figures");
    let objects: Vec<serde_json::Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<&str> = objects.iter().map(|object| object["strategy"].as_str().unwrap()).collect();
    assert_eq!(names, ["wire", "omniscient", "estimated", "optimal-refresh"]);
    let number = |index: usize, name: &str| objects[index][name].as_f64();
    let fields =
        ["at_10", "at_20", "at_50", "important_share", "kendall_tau", "freshness", "age", "requests"];
    assert!(fields.iter().all(|name| number(0, name).is_some()), "{}", objects[0]);
    assert_eq!(number(1, "area_relative"), Some(1.0));
    assert!(number(0, "area_relative").is_some_and(|area| area > 0.85 && area <= 1.01), "{}", objects[0]);
    assert!(number(0, "seconds_half") < number(0, "seconds_all"), "{}", objects[0]);
    assert!(objects[1]["freshness"].is_null() && objects[2]["area_relative"].is_null());
    assert!(number(2, "freshness") < number(3, "freshness"), "nobody beats who knows the rates");
}

#[test]
fn the_table_and_the_files() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a/b");
    let arguments =
        [&SMALL[..], &["--strategy", "wire,random,uniform", "--out", out.to_str().unwrap()]].concat();
    let output = weir(&arguments);
    assert!(output.status.success(), "{output:?}");
    let table = stdout(&output);
    let heading: Vec<&str> = table.lines().nth(2).unwrap().split_whitespace().collect();
    assert_eq!(heading[..2], ["strategy", "area"]);
    assert!(table.starts_with("On a made-up Web (1,5") && table.contains("\nuniform "), "{table}");
    let read = |name: &str| fs::read_to_string(out.join(name)).unwrap();
    assert_eq!(read("table.csv").lines().count(), 4);
    assert!(read("curves.csv").starts_with("strategy,downloaded,pagerank\nwire,0.000000,0.000000\n"));
    for name in ["order.svg", "lag.svg", "area.svg", "freshness.svg"] {
        assert!(
            read(name).starts_with("<svg xmlns=") && read("comparison.html").contains(&read(name)),
            "{name}"
        );
    }
    assert!(!read("comparison.html").contains("src="), "it needs nothing else");
}

#[test]
fn a_collection_is_a_web_too() {
    let folder = tempfile::tempdir().unwrap();
    let web = folder.path().join("web");
    let demo = weir(&["demo", web.to_str().unwrap(), "--sites", "8", "--pages", "200"]);
    assert!(demo.status.success(), "{demo:?}");
    let output = weir(&["simulate", web.to_str().unwrap(), "--strategy", "wire,breadth-first", "--json"]);
    assert!(output.status.success(), "{output:?}");
    for line in stdout(&output).lines() {
        let object: serde_json::Value = serde_json::from_str(line).unwrap();
        let area = object["area_relative"].as_f64().unwrap();
        assert!(area > 0.5 && area <= 1.05, "{object}");
    }
}

/// The figures of one strategy on a collection.
fn figures(web: &str, more: &[&str]) -> Vec<serde_json::Value> {
    let output = weir(&[&["simulate", web, "--json"], more].concat());
    assert!(output.status.success(), "{output:?}");
    stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_settings_of_a_collection_are_tried_as_own() {
    let folder = tempfile::tempdir().unwrap();
    let web = folder.path().join("web");
    let web = web.to_str().unwrap();
    let demo = weir(&["demo", web, "--sites", "8", "--pages", "200"]);
    assert!(demo.status.success(), "{demo:?}");
    let file = folder.path().join("web/weir.toml");
    let set = |settings: &str| fs::write(&file, settings).unwrap();
    let own = || figures(web, &["--strategy", "own", "--batch", "5"]).remove(0);
    set("");
    let all = figures(web, &["--batch", "5"]);
    assert_eq!((&all[0]["strategy"], &all[1]["strategy"]), (&"own".into(), &"wire".into()));
    assert_eq!(all[0]["area_relative"], all[1]["area_relative"], "nothing is set but what is usual");
    set("[quality]\nweights = { random = 1.0 }\n");
    let random = own();
    assert_ne!(random["area_relative"], all[0]["area_relative"]);
    set("[quality]\nweights = { random = 1.0 }\n[revisit]\nok = \"1h\"\n");
    let often = own();
    let requests = |figures: &serde_json::Value| figures["requests"].as_u64().unwrap();
    assert!(requests(&often) > requests(&random), "{often} {random}");
    set("[quality]\nweights = { random = 1.0 }\naim = \"every-change\"\n[revisit]\nok = \"1h\"\n");
    let every_change = own();
    assert_ne!(every_change["freshness"], often["freshness"]);
    let freshness = figures(web, &["--strategy", "own", "--batch", "5", "--aim", "freshness"]).remove(0);
    assert_eq!(freshness, often, "who asks for another aim gets it");
    set("[quality]\nweights = { relevance = 1.0 }\n");
    assert_eq!(figures(web, &["--batch", "5"])[0]["strategy"], "wire", "what cannot be tried is left out");
    let output = weir(&["simulate", web, "--strategy", "own"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && error.contains("`own` needs relevance"), "{error}");
}

#[test]
fn wrong_use_is_one_sentence_and_exit_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let no_collection = folder.path().to_str().unwrap();
    let cases: [(&[&str], &str); 8] = [
        (&["simulate"], "required"),
        (&["simulate", "web", "--synthetic"], "cannot be used with"),
        (
            &["simulate", "--synthetic", "--strategy", "depth-first"],
            "there is no strategy `depth-first`; there are wire,",
        ),
        (&["simulate", "--synthetic", "--strategy", "focused"], "needs the texts of pages"),
        (&["simulate", "--synthetic", "--strategy", "own"], "settings of a collection"),
        (&["simulate", "--synthetic", "--pages", "0"], "0 is not in"),
        (&["simulate", "--synthetic", "--requests-per-change", "0"], "must be above 0"),
        (&["simulate", no_collection], "no collection"),
    ];
    for (arguments, sentence) in cases {
        let output = weir(arguments);
        let error = String::from_utf8(output.stderr.clone()).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(sentence), "{arguments:?}: {error}");
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
