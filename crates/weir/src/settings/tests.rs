//! Tests of the settings file, its error messages and `docs/settings.md`.

use std::path::Path;

use super::section::{Section, SettingRow};
use super::{Settings, SiteSection};

/// Message of the error of a file with one error, without its line.
fn error(text: &str) -> String {
    let message = Settings::parse(text).unwrap_err();
    match message.split_once(": ") {
        Some((line, message)) if line.starts_with("line ") && !line.contains(',') => message.to_owned(),
        _ => message,
    }
}

#[test]
fn all_errors_of_a_file_are_reported_with_their_lines() {
    let text = "# comment\n[scope]\naccept = ['a b']\nrejct = []\n\n[politeness]\ndelay = 15\n\n\
                [[site]]\nmatch = 'a.test'\nmax_depth = 'x'\n[[site]]\ndelay = '1s'\n[colour]\n";
    let message = Settings::parse(text).unwrap_err();
    let lines: Vec<&str> = message.lines().map(|line| line.split_once(": ").unwrap().0).collect();
    assert_eq!(lines, ["line 3", "line 4", "line 7", "line 11", "line 12", "line 14"], "{message}");
    assert!(
        message.contains("line 4: unknown setting `scope.rejct`; did you mean `scope.reject`?"),
        "{message}"
    );
    assert!(message.contains("line 12: entry 2 of [[site]] has no `match`"), "{message}");
}

#[test]
fn settings_survive_writing_and_reading() {
    assert_eq!(Settings::parse("").unwrap(), Settings::default());
    let text = "
        [crawl]
        contact = 'crawl@example.org'
        agent = 'Test-Bot'
        strategy = 'breadth-first'
        threads = 4
        [quality]
        weights = { depth = 1, inlinks = 0.25 }
        objective = 'every-change'
        discovery_share = 0.5
        url_keywords = ['+Research', '-.example.org']
        [focus]
        query = 'whales'
        example_pages = ['a.html']
        [scope]
        accept = ['*.Example.ORG', '.bücher.example']
        reject = ['*logout', '/a\"b\\c']
        schemes = ['http', 'gopher']
        [politeness]
        delay = '1.5s'
        max_crawl_delay = '2h'
        [traps]
        calendar_years = 'none'
        [fetch]
        max_body_size = '1.5 MB'
        headers = ['X-Purpose: research: the Web']
        proxy = 'me:secret@192.0.2.1:3128'
        [dns]
        servers = ['192.0.2.53', '[2001:db8::53]:5353']
        hosts = { 'A.test' = '127.0.0.1', '[::2]' = '::1' }
        [network]
        blocked_networks = ['198.51.100.0/24', '203.0.113.7', '2001:db8::/32']
        [warc]
        keep_versions = 3
        [[site]]
        match = '.example.org'
        delay = '30s'
        headers = []
        basic_auth = 'guest:a:b'
        [[site]]
        match = 'org,example:8080)'
        skip = true
        [[site]]
        match = 'www.example.org'
        max_pages = 0
    ";
    let settings = Settings::parse(text).unwrap();
    assert_eq!(settings.scope.accept[0].0, ".example.org");
    assert_eq!(settings.scope.accept[1].0, ".xn--bcher-kva.example");
    assert_eq!((settings.fetch.max_body_size.0, settings.politeness.delay.as_millis()), (1_500_000, 1_500));
    assert_eq!(settings.sites.len(), 3);
    for settings in [Settings::default(), settings] {
        assert_eq!(Settings::parse(&settings.to_toml()).unwrap(), settings, "{}", settings.to_toml());
    }
}

#[test]
fn an_unknown_name_is_reported_with_the_nearest_one() {
    assert_eq!(
        error("[warc]\nkep_versions = 1"),
        "unknown setting `warc.kep_versions`; did you mean `warc.keep_versions`?"
    );
    assert_eq!(error("accept = []"), "unknown setting `accept`; did you mean `scope.accept`?");
    assert_eq!(
        error("[[site]]\nmatch = 'a.test'\ndelays = 1"),
        "unknown setting `site.delays`; did you mean `site.delay`?"
    );
    assert_eq!(error("[politness]"), "unknown setting `politness`; did you mean `politeness`?");
    assert!(error("colour = 'red'").starts_with("unknown setting `colour`; known: crawl, quality, "));
    assert_eq!(error("crawl = 1"), "`crawl` is a section; write [crawl] above its settings");
    assert_eq!(
        error("[site]\ndelay = '1s'"),
        "`site` is a list of entries; write [[site]], in double brackets, above each"
    );
    assert!(error("[[site]]\ndelay = '1s'").starts_with("entry 1 of [[site]] has no `match`; example: "));
    assert!(error("keep").contains("expected"), "{}", error("keep"));
    assert!(error("[crawl]\n  keep").starts_with("line 2, column "), "{}", error("[crawl]\n  keep"));
}

#[test]
fn messages_and_debug_output_do_not_contain_secrets() {
    let error = |text: &str| Settings::parse(text).unwrap_err();
    for text in [
        "[fetch]\nproxy = 'user:geheim@proxy.example.org:3128'",
        "[fetch]\nheaders = ['Authorization geheim']",
        "[[site]]\nmatch = 'a.test'\ncookies = \"a=geheim\\u0007\"",
        "[[site]]\nmatch = 'a.test'\nbasic_auth = 'geheim'",
        "[[site]]\nmatch = 'a.test'\nbasic_auth = \"user:geheim\n",
    ] {
        assert!(!error(text).contains("geheim"), "{}", error(text));
    }
    let settings = Settings::parse(
        "[fetch]\nproxy = 'user:geheim@192.0.2.1:3128'\nheaders = ['Authorization: geheim']\n\
         [[site]]\nmatch = 'a.test'\nbasic_auth = 'user:geheim'\n",
    );
    let settings = settings.unwrap();
    let typed = settings.crawl_settings(Path::new("")).unwrap();
    assert!(!format!("{settings:?} {typed:?}").contains("geheim"));
}

/// Invalid values, with a part of the error message.
#[rustfmt::skip]
const INVALID: &[(&str, &[&str], &str)] = &[
    ("crawl.agent", &["'bot 2'", "''", "1"], "invalid product token"),
    ("crawl.strategy", &["'best'", "1"], "use \"wire\" or \"breadth-first\" or"),
    ("crawl.max_batch_pages", &["0"], "0 out of range (1 to 10_000_000)"),
    ("crawl.max_batch_pages", &["'1'", "-1", "1.5", "9_999_999_999"], "; example: 100 (0 to 4294967295, without quotes)"),
    ("quality.weights", &["{ depth = -1 }", "{ cash = 1e9 }"], "out of range (0 to"),
    ("quality.weights", &["{ depth = 'much' }"], "invalid number `much`; example: 0.5"),
    ("quality.weights", &["{ beauty = 1 }"], "unknown quality term `beauty`; known: depth, static, inlinks"),
    ("quality.weights", &["{ depth = 0 }"], "all weights are 0; use a positive weight"),
    ("quality.weights", &["0.5", "[]"], "invalid table"),
    ("quality.objective", &["'best'", "1"], "use \"profit\" or \"freshness\" or"),
    ("quality.discovery_share", &["1.5", "-0.1"], "out of range (0.0 to 1.0)"),
    ("quality.url_keywords", &["['research']", "['+']", "['+a b']", "['-.']", "[1]"], "invalid keyword"),
    ("scope.accept", &["['.']", "['a b.c']", "['http:///']", "['a:80']", "['me@a.b']"], "as a host: expected `www.example.org`"),
    ("scope.accept", &["['login']"], "use `*login` for URLs that contain it, or `http://login` for the host"),
    ("scope.accept", &["['~(']"], "cannot use the regular expression: "),
    ("scope.accept", &["'.example.org'"], "invalid list `.example.org`; write it in square brackets"),
    ("scope.reject", &["['/']", "['**']"], "it matches every page; example"),
    ("parse.link_elements", &["['img']", "[1]"], "known: a, area, frame"),
    ("scope.schemes", &["['telnet']"], "invalid scheme `telnet`; use \"http\" or \"https\" or"),
    ("scope.sort_query", &["'yes'", "1"], "; use true or false"),
    ("traps.calendar_years", &["'2020'", "'2035-1990'", "2020"], "examples: \"1990-2035\", \"none\""),
    ("politeness.delay", &["15", "'15'", "' 15 '"], "has no unit; use \"15s\", "),
    ("politeness.delay", &["'fast'", "'15 parsecs'", "'-1s'", "'1e9s'", "'99999999999999d'"], "; examples: \"15s\""),
    ("politeness.delay", &["'2d'"], "\"2d\" out of range (\"0s\" to \"1d\")"),
    ("fetch.max_body_size", &["400000", "'400000'", "'0x1 kB'", "'kB'", "'1 parsec'", "'99999999 GB'"], "invalid size"),
    ("fetch.max_body_size", &["'0 B'", "'2 GiB'"], "out of range (\"1 kB\" to \"1 GiB\")"),
    ("fetch.headers", &["['X']", "['a b: c']", "['X: a\\u0001']", "[': a']"], "invalid header"),
    ("fetch.headers", &["['Host: a']", "['user-agent: b']"], "cannot be set: Weir sets it itself"),
    ("fetch.proxy", &["'proxy.example.org:3128'", "'192.0.2.1'", "'me@192.0.2.1:1'", "1"], "invalid proxy"),
    ("dns.servers", &["['ns.example.org']", "['1.2.3']"], "invalid IP address"),
    ("dns.hosts", &["{ 'a.test' = 'b.test' }"], "invalid IP address `b.test` of a.test"),
    ("dns.hosts", &["{ 'a b' = '127.0.0.1' }"], "invalid host name `a b`"),
    ("dns.hosts", &["[]"], "invalid table `[...]`; example: "),
    ("network.blocked_networks", &["['10.0.0.0/33']", "['ten']", "['10.0.0.0/']", "[10]"], "invalid network"),
    ("warc.keep_versions", &["'some'", "0", "-1"], "use all, latest or a number"),
    ("warc.compression_level", &["13", "0"], "out of range (1 to 12)"),
];

#[test]
fn an_invalid_value_is_rejected_with_an_example() {
    for (name, values, message) in INVALID {
        let (section, setting) = name.split_once('.').unwrap();
        for value in *values {
            let error = error(&format!("[{section}]\n{setting} = {}", value.replace('\'', "\"")));
            assert!(error.starts_with(&format!("{name}: ")) && error.contains(message), "{value}: {error}");
        }
    }
    for site in ["", "a b", "http://a.test/", "a.test:80", "org, example"] {
        let error = error(&format!("[[site]]\nmatch = '{site}'"));
        assert!(error.starts_with("site.match: ") && error.contains("invalid site pattern"), "{error}");
    }
    let basic_auth = error("[[site]]\nmatch = 'a.test'\nbasic_auth = 'secret'");
    assert!(basic_auth.contains("user:password") && !basic_auth.contains("secret"), "{basic_auth}");
}

#[test]
fn changed_settings_are_listed_with_whether_they_are_reloaded() {
    let old = Settings::default();
    let new =
        Settings::parse("[crawl]\nthreads = 2\n[politeness]\ndelay = '1s'\n[[site]]\nmatch = 'a'").unwrap();
    let changes = old.changes(&new);
    let expected = [("crawl.threads", false), ("politeness.delay", true), ("site", true)];
    assert_eq!(changes, expected.map(|(name, reloadable)| (name.to_owned(), reloadable)));
    assert_eq!(new.changes(&new.clone()), []);
    // The manager uses these at its next batch.
    let selection = "[crawl]\nstrategy = 'opic'\nmax_batch_pages = 9\nmax_batch_pages_per_site = 3\n[revisit]\nmin_interval_ok = '1d'\nmin_interval_failed = '2d'";
    let changes = old.changes(&Settings::parse(selection).unwrap());
    assert!(changes.len() == 5 && changes.iter().all(|(_, reloadable)| *reloadable), "{changes:?}");
}

/// The library crates repeat the defaults for programs without a settings file.
#[test]
fn defaults_equal_those_of_the_library_crates() {
    let settings = Settings::default();
    assert_eq!(settings.limits(), frontier::Limits::default());
    assert_eq!(settings.politeness(), frontier::Politeness::default());
    assert_eq!(settings.retry_policy(), frontier::RetryPolicy::default());
    let scope = settings.scope().unwrap();
    assert_eq!(scope.traps, frontier::TrapLimits::default());
    let same = |typed: &dyn std::fmt::Debug, default: &dyn std::fmt::Debug| {
        assert_eq!(format!("{typed:?}"), format!("{default:?}"));
    };
    same(&scope, &frontier::Scope::default());
    same(&settings.dns_settings(), &fetch::DnsSettings::default());
    same(&settings.fetch_settings(Path::new("")).unwrap(), &fetch::FetchSettings::default());
    let mut expected = harvest::CrawlSettings::default();
    // Weir limits the text of a page as WIRE does; the default of the crate is larger for other programs.
    expected.gathering.options.limits.text_bytes = 300_000;
    expected.setting_digests = settings.setting_digests();
    same(&settings.crawl_settings(Path::new("")).unwrap(), &expected);
    let mut expected = store::StoreSettings::default();
    expected.page_store.warcinfo = super::warc_info();
    same(&settings.store_settings(), &expected);
    same(&settings.url_rules(), &model::UrlRules::default());
    same(&settings.simplified_tags(), &parse::html::TagAllowlist::default());
}

/// Variables of WIRE's table 7.1; with a replacement for those without a setting.
const WIRE: [(&str, &str); 26] = [
    ("collection/base", "directory argument of each command"),
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
    ("harvester/nthreads/min", "no minimum: a request starts as soon as a site is ready"),
    ("harvester/timeout/connection", ""),
    ("harvester/wait/normal", ""),
    ("harvester/maxfilesize", ""),
    ("gatherer/maxstoredsize", ""),
    ("gatherer/keep", ""),
    ("gatherer/discard", "all tags that are not in parse.simplified_tags"),
    ("gatherer/link", ""),
];

fn all_rows() -> Vec<(&'static str, SettingRow)> {
    let settings = Settings::default();
    let rows = |section: &dyn Section| {
        let name = section.name();
        section.rows().into_iter().map(move |row| (name, row)).collect::<Vec<_>>()
    };
    settings.sections().into_iter().flat_map(rows).collect()
}

#[test]
fn every_variable_of_wire_has_a_setting_or_a_replacement() {
    let rows = all_rows();
    for (variable, replacement) in WIRE {
        let found = rows.iter().any(|(_, row)| row.wire == Some(variable));
        assert_eq!(found, replacement.is_empty(), "{variable}");
    }
    for (section, row) in &rows {
        let known = |wire| WIRE.iter().any(|(variable, _)| *variable == wire);
        assert!(row.wire.is_none_or(known), "{section}.{}", row.name);
    }
}

fn describe(section: &dyn Section) -> String {
    let text = |lines: &[&str]| lines.concat().trim().replace('|', "\\|");
    let mut out = format!("\n## {}\n\n{}\n", section.name(), text(section.about()));
    out += "\n| setting | kind | default | reload | meaning |\n|---|---|---|---|---|\n";
    for row in section.rows() {
        let one_line = row.value.replace('\n', "").replace("    ", " ").replace("[ ", "[").replace(",]", "]");
        let default = match one_line {
            _ if section.name() == "site" => String::new(),
            value => format!("`{value}`"),
        };
        let reload = if row.reloadable { "yes" } else { "" };
        out += &format!("| `{}` | {} | {default} | {reload} | {} |\n", row.name, row.kind, text(row.meaning));
    }
    out
}

fn describe_wire() -> String {
    let mut out =
        "\n## WIRE's variables\n\nVariables of WIRE's table 7.1 and the settings that replace them.\n\n\
                   | WIRE | Weir |\n|---|---|\n"
            .to_owned();
    for (variable, replacement) in WIRE {
        let rows = all_rows();
        let names = rows.iter().filter(|(_, row)| row.wire == Some(variable));
        let names: Vec<String> = names.map(|(section, row)| format!("`{section}.{}`", row.name)).collect();
        let setting = if names.is_empty() { replacement.to_owned() } else { names.join(", ") };
        out += &format!("| {variable} | {setting} |\n");
    }
    out
}

/// `WEIR_WRITE_DOCS=1 cargo test -p weir` updates the document.
#[test]
fn the_document_lists_every_setting() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/settings.md");
    let settings = Settings::default();
    let mut lists: String = settings.sections().into_iter().map(describe).collect();
    lists += &describe(&SiteSection::default());
    lists += &describe_wire();
    let text = std::fs::read_to_string(&path).unwrap();
    let introduction = text.split("\n## crawl").next().unwrap();
    let expected = format!("{introduction}{lists}");
    if std::env::var_os("WEIR_WRITE_DOCS").is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    assert!(text == expected, "docs/settings.md is out of date; update it with WEIR_WRITE_DOCS=1");
}
