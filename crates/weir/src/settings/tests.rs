//! Do the settings say what they mean, in their file and in their document?

use std::path::Path;

use super::section::{Row, Section};
use super::{Settings, SiteSection};

fn error(text: &str) -> String {
    Settings::parse(text).unwrap_err()
}

#[test]
fn what_is_written_is_read() {
    assert_eq!(Settings::parse("").unwrap(), Settings::default());
    let text = "
        [crawl]
        contact = 'crawl@example.org'
        agent = 'Test-Bot'
        strategy = 'breadth-first'
        threads = 4
        [quality]
        weights = { depth = 1, in-links = 0.25 }
        aim = 'every-change'
        discovery_share = 0.5
        url_words = ['+Research', '-.example.org']
        [focus]
        query = 'whales'
        examples = ['a.html']
        [scope]
        accept = ['*.Example.ORG', '.bücher.example']
        reject = ['logout', '/a\"b\\c']
        schemes = ['http', 'gopher']
        [politeness]
        wait = '1.5s'
        most_crawl_delay = '2h'
        [traps]
        years = 'none'
        [fetch]
        body = '1.5 MB'
        headers = ['X-Purpose: research: the Web']
        proxy = 'me:secret@192.0.2.1:3128'
        [dns]
        servers = ['192.0.2.53', '[2001:db8::53]:5353']
        hosts = { 'A.test' = '127.0.0.1', '[::2]' = '::1' }
        [network]
        blocked = ['198.51.100.0/24', '203.0.113.7', '2001:db8::/32']
        [pages]
        keep = 3
        [[site]]
        site = '.example.org'
        wait = '30s'
        headers = []
        login = 'guest:a:b'
        [[site]]
        site = 'org,example:8080)'
        skip = true
        [[site]]
        site = 'www.example.org'
        pages = 0
    ";
    let settings = Settings::parse(text).unwrap();
    assert_eq!(settings.scope.accept[0].0, ".example.org");
    assert_eq!(settings.scope.accept[1].0, ".xn--bcher-kva.example");
    assert_eq!((settings.fetch.body.0, settings.politeness.wait.as_millis()), (1_500_000, 1_500));
    assert_eq!(settings.sites.len(), 3);
    for settings in [Settings::default(), settings] {
        assert_eq!(Settings::parse(&settings.to_toml()).unwrap(), settings, "{}", settings.to_toml());
    }
}

#[test]
fn a_name_that_is_none_is_told_with_the_nearest() {
    assert_eq!(error("[pages]\nkep = 1"), "there is no setting `pages.kep`; is `pages.keep` meant?");
    assert_eq!(error("accept = []"), "there is no setting `accept`; is `scope.accept` meant?");
    assert_eq!(
        error("[[site]]\nsite = 'a.test'\nwaits = 1"),
        "there is no setting `site.waits`; is `site.wait` meant?"
    );
    assert_eq!(error("[politness]"), "there is no setting `politness`; is `politeness` meant?");
    assert!(error("colour = 'red'").starts_with("there is no setting `colour`; there are crawl, quality, "));
    assert_eq!(error("crawl = 1"), "`crawl` is a section; write [crawl] above its settings");
    assert_eq!(
        error("[site]\nwait = '1s'"),
        "`site` is a list of entries; write [[site]], in two brackets, above each"
    );
    assert!(error("[[site]]\nwait = '1s'").starts_with("entry 1 of [[site]] is for no site; write "));
    assert!(error("keep").contains("expected"), "{}", error("keep"));
}

/// Values that are refused, with a part of what is said about each.
#[rustfmt::skip]
const WRONG: &[(&str, &[&str], &str)] = &[
    ("crawl.agent", &["'bot 2'", "''", "1"], "is no name for robots.txt; write letters"),
    ("crawl.strategy", &["'best'", "1"], "write \"wire\" or \"breadth-first\" or"),
    ("crawl.batch_pages", &["0"], "0 is out of bounds; write a value from 1 to 10_000_000"),
    ("crawl.batch_pages", &["'1'", "-1", "1.5", "9_999_999_999"], "is no number from 0 to 4294967295; write digits"),
    ("quality.weights", &["{ depth = -1 }", "{ cash = 1e9 }"], "is no weight of"),
    ("quality.weights", &["{ depth = 'much' }"], "is no number; write one such as 0.5"),
    ("quality.weights", &["{ beauty = 1 }"], "`beauty` is no term of the quality; there are depth, static, in-links"),
    ("quality.weights", &["{ depth = 0 }"], "all weights are 0; give some term more"),
    ("quality.weights", &["0.5", "[]"], "is no table; write one such as"),
    ("quality.aim", &["'best'", "1"], "write \"profit\" or \"freshness\" or"),
    ("quality.discovery_share", &["1.5", "-0.1"], "is out of bounds; write a value from 0.0 to 1.0"),
    ("quality.url_words", &["['research']", "['+']", "['+a b']", "['-.']", "[1]"], "praises and blames nothing; write + or - and a word"),
    ("scope.accept", &["['']", "['.']", "['a b']", "['http://a/']", "['a/b']", "['a:80']", "['me@a']", "[1]"], "is no ending of a host name; write one such as"),
    ("scope.accept", &["'.example.org'"], "is no list; write it in square brackets"),
    ("scope.reject", &["['']", "['*']", "['/']"], "would reject every page; write a text"),
    ("scope.schemes", &["['telnet']"], "write \"http\" or \"https\" or"),
    ("scope.sort_query", &["'yes'", "1"], "is neither true nor false; write one"),
    ("traps.years", &["'2020'", "'2035-1990'", "2020"], "write one such as \"1990-2035\", or \"none\""),
    ("politeness.wait", &["15", "'15'", "' 15 '"], "has no unit; write \"15s\" for seconds"),
    ("politeness.wait", &["'fast'", "'15 parsecs'", "'-1s'", "'1e9s'", "'99999999999999d'"], "is no time; write a number and a unit, such as \"15s\""),
    ("politeness.wait", &["'2d'"], "\"2d\" is out of bounds; write a value from \"0s\" to \"1d\""),
    ("fetch.body", &["400000", "'400000'", "'0x1 kB'", "'kB'", "'1 parsec'", "'99999999 GB'"], "is no size; write a number and a unit in quotes, such as \"400 kB\""),
    ("fetch.body", &["'0 B'", "'2 GiB'"], "is out of bounds; write a value from"),
    ("fetch.headers", &["['X']", "['a b: c']", "['X: a\\u0001']", "[': a']"], "is no header; write a name, a colon and a value"),
    ("fetch.headers", &["['Host: a']", "['user-agent: b']"], "is not set here; Weir writes it itself"),
    ("fetch.proxy", &["'proxy.example.org:3128'", "'192.0.2.1'", "'me@192.0.2.1:1'", "1"], "is no proxy; write its address and port"),
    ("dns.servers", &["['ns.example.org']", "['1.2.3']"], "is no address; write one such as \"127.0.0.1\""),
    ("dns.hosts", &["{ 'a.test' = 'b.test' }"], "is no address of a.test; write one such as"),
    ("dns.hosts", &["{ 'a b' = '127.0.0.1' }"], "`a b` is no host name"),
    ("dns.hosts", &["[]"], "a list is no table; write one such as"),
    ("network.blocked", &["['10.0.0.0/33']", "['ten']", "['10.0.0.0/']", "[10]"], "is no network; write an address such as"),
    ("pages.keep", &["'some'", "0", "-1"], "a number from 1"),
    ("pages.compression_level", &["13", "0"], "is out of bounds; write a value from 1 to 12"),
];

#[test]
fn a_wrong_value_is_refused_with_what_to_write() {
    for (name, values, sentence) in WRONG {
        let (section, setting) = name.split_once('.').unwrap();
        for value in *values {
            let error = error(&format!("[{section}]\n{setting} = {}", value.replace('\'', "\"")));
            assert!(error.starts_with(&format!("{name}: ")) && error.contains(sentence), "{value}: {error}");
        }
    }
    for site in ["", "a b", "http://a.test/", "a.test:80", "org, example"] {
        let error = error(&format!("[[site]]\nsite = '{site}'"));
        assert!(
            error.starts_with("site.site: ") && error.contains("names no site; write a host such as"),
            "{error}"
        );
    }
    let login = error("[[site]]\nsite = 'a.test'\nlogin = 'secret'");
    assert!(login.contains("write a name, a colon") && !login.contains("secret"), "{login}");
}

#[test]
fn settings_that_changed_are_told() {
    let old = Settings::default();
    let new =
        Settings::parse("[crawl]\nthreads = 2\n[politeness]\nwait = '1s'\n[[site]]\nsite = 'a'").unwrap();
    let changes = old.changes(&new);
    let expected = [("crawl.threads", false), ("politeness.wait", true), ("site", true)];
    assert_eq!(changes, expected.map(|(name, at_once)| (name.to_owned(), at_once)));
    assert_eq!(new.changes(&new.clone()), []);
    // By these the manager goes at its next look.
    let choosing = "[crawl]\nstrategy = 'opic'\nbatch_pages = 9\nbatch_pages_per_site = 3\n[revisit]\nok = '1d'\nerror = '2d'";
    let changes = old.changes(&Settings::parse(choosing).unwrap());
    assert!(changes.len() == 5 && changes.iter().all(|(_, at_once)| *at_once), "{changes:?}");
}

/// The defaults are written once more in the crates that use them.
#[test]
fn defaults_are_those_of_the_crates() {
    let settings = Settings::default();
    assert_eq!(settings.limits(), frontier::Limits::default());
    assert_eq!(settings.waits(), frontier::Waits::default());
    assert_eq!(settings.patience(), frontier::Patience::default());
    let scope = settings.scope().unwrap();
    assert_eq!(scope.traps, frontier::TrapRules::default());
    let same = |typed: &dyn std::fmt::Debug, default: &dyn std::fmt::Debug| {
        assert_eq!(format!("{typed:?}"), format!("{default:?}"));
    };
    same(&scope, &frontier::Scope::default());
    same(&settings.resolving(), &fetch::DnsSettings::default());
    same(&settings.fetching(Path::new("")).unwrap(), &fetch::FetchSettings::default());
    let mut expected = crawl::CrawlSettings::default();
    // As much text of a page as WIRE stores is enough; imports by others may want more.
    expected.gather.options.limits.text_bytes = 300_000;
    same(&settings.crawl_settings(Path::new("")).unwrap(), &expected);
    let mut expected = store::StoreSettings::default();
    expected.bodies.info = super::warc_info();
    same(&settings.store_settings(), &expected);
    same(&settings.url_rules(), &model::UrlRules::default());
    same(&settings.kept_tags(), &parse::html::KeptTags::default());
}

/// The variables of WIRE's table 7.1, with what there is instead of those that have no setting.
const WIRE: [(&str, &str); 26] = [
    ("collection/base", "the folder that each command is given"),
    ("collection/maxdoc", ""),
    ("collection/maxsite", ""),
    ("seeder/max-urls-per-site", ""),
    ("seeder/accept/domain-suffixes", ""),
    ("seeder/ext/download/static", ""),
    ("seeder/ext/download/dynamic", ""),
    ("seeder/ext/log/group", ""),
    ("seeder/sessionids", ""),
    ("manager/maxdepth/dynamic", ""),
    ("manager/maxdepth/static", ""),
    ("manager/batch/size", ""),
    ("manager/batch/samesite", ""),
    ("manager/score", ""),
    ("manager/minperiod", ""),
    ("harvester/resolvconf", ""),
    ("harvester/blocked-ip", ""),
    ("harvester/nthreads/start", ""),
    (
        "harvester/nthreads/min",
        "no least number of requests is kept open: every site that may be asked is asked at once",
    ),
    ("harvester/timeout/connection", ""),
    ("harvester/wait/normal", ""),
    ("harvester/maxfilesize", ""),
    ("gatherer/maxstoredsize", ""),
    ("gatherer/keep", ""),
    ("gatherer/discard", "every tag that is not kept"),
    ("gatherer/link", "every element and attribute of HTML that holds a link"),
];

fn all_rows() -> Vec<(&'static str, Row)> {
    let settings = Settings::default();
    let rows = |section: &dyn Section| {
        let name = section.name();
        section.rows().into_iter().map(move |row| (name, row)).collect::<Vec<_>>()
    };
    settings.sections().into_iter().flat_map(rows).collect()
}

#[test]
fn every_variable_of_wire_is_there() {
    let rows = all_rows();
    for (variable, instead) in WIRE {
        let found = rows.iter().any(|(_, row)| row.wire == Some(variable));
        assert_eq!(found, instead.is_empty(), "{variable}");
    }
    for (section, row) in &rows {
        let known = |wire| WIRE.iter().any(|(variable, _)| *variable == wire);
        assert!(row.wire.is_none_or(known), "{section}.{}", row.name);
    }
}

fn describe(section: &dyn Section) -> String {
    let text = |lines: &[&str]| lines.concat().trim().replace('|', "\\|");
    let mut out = format!("\n## {}\n\n{}\n", section.name(), text(section.about()));
    out += "\n| setting | kind | default | while running | meaning |\n|---|---|---|---|---|\n";
    for row in section.rows() {
        let default = match row.value.replace('\n', "").replace("    ", " ") {
            long if long.len() > 120 => "as the file shows it".to_owned(),
            _ if section.name() == "site" => String::new(),
            value => format!("`{value}`"),
        };
        let at_once = if row.at_once { "yes" } else { "" };
        out +=
            &format!("| `{}` | {} | {default} | {at_once} | {} |\n", row.name, row.kind, text(row.meaning));
    }
    out
}

fn describe_wire() -> String {
    let mut out = "\n## WIRE's variables\n\nThe variables of WIRE's table and what they are called here.\n\n\
                   | in WIRE | here |\n|---|---|\n"
        .to_owned();
    for (variable, instead) in WIRE {
        let rows = all_rows();
        let names = rows.iter().filter(|(_, row)| row.wire == Some(variable));
        let names: Vec<String> = names.map(|(section, row)| format!("`{section}.{}`", row.name)).collect();
        let here = if names.is_empty() { instead.to_owned() } else { names.join(", ") };
        out += &format!("| {variable} | {here} |\n");
    }
    out
}

/// `WEIR_WRITE_DOCS=1 cargo test -p weir` writes the lists anew.
#[test]
fn the_document_lists_every_setting() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/settings.md");
    let settings = Settings::default();
    let mut lists: String = settings.sections().into_iter().map(describe).collect();
    lists += &describe(&SiteSection::default());
    lists += &describe_wire();
    let text = std::fs::read_to_string(&path).unwrap();
    let introduction = text.split("\n## crawl").next().unwrap();
    let wanted = format!("{introduction}{lists}");
    if std::env::var_os("WEIR_WRITE_DOCS").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    assert!(text == wanted, "docs/settings.md is not up to date; WEIR_WRITE_DOCS=1 writes it");
}
