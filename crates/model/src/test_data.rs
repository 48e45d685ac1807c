//! The test cases of the URL standard, for the tests of this crate.

use serde_json::Value;

/// One case of urltestdata.json.
pub(crate) struct UrlCase {
    pub(crate) input: String,
    pub(crate) base: Option<String>,
    /// What the parser should answer; None if it should refuse.
    pub(crate) href: Option<String>,
}

/// All cases; None, with a word to the reader, where the shared test data is not at hand.
pub(crate) fn url_cases() -> Option<Vec<UrlCase>> {
    let text = |case: &Value, name: &str| case[name].as_str().map(str::to_owned);
    let case = |case: &Value| UrlCase {
        input: text(case, "input").unwrap(),
        base: text(case, "base"),
        href: text(case, "href"),
    };
    Some(objects(&shared_file("url/urltestdata.json")?).iter().map(case).collect())
}

/// The objects of a file of web-platform-tests, without the comments between them.
pub(crate) fn objects(json: &str) -> Vec<Value> {
    let all: Vec<Value> = serde_json::from_str(&without_lone_surrogates(json)).unwrap();
    all.into_iter().filter(Value::is_object).collect()
}

/// Replaces each `\uD800` to `\uDFFF` that is no half of a pair by U+FFFD, as a browser does with such strings.
fn without_lone_surrogates(json: &str) -> String {
    let unit = |at: usize| u16::from_str_radix(json.get(at..)?.strip_prefix("\\u")?.get(..4)?, 16).ok();
    let mut text = json.to_owned();
    let mut at = 0;
    while let Some(found) = json[at..].find("\\u") {
        at += found;
        let is_pair = |high, low| (0xD800..0xDC00).contains(&high) && (0xDC00..0xE000).contains(&low);
        match (unit(at), unit(at + 6)) {
            (Some(high), Some(low)) if is_pair(high, low) => at += 12,
            (Some(0xD800..0xE000), _) => {
                text.replace_range(at..at + 6, "\\uFFFD");
                at += 6;
            }
            _ => at += 2,
        }
    }
    text
}

/// A file of the shared test data.
#[expect(clippy::disallowed_methods, reason = "the cases lie in files; the tested code never reads one")]
pub(crate) fn shared_file(name: &str) -> Option<String> {
    let path = format!("{}/../../../shared/data/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).ok();
    if text.is_none() {
        eprintln!("skipped: {path} is absent");
    }
    text
}
