//! Test cases of the URL standard.

use serde_json::Value;

/// One case of urltestdata.json.
pub(crate) struct UrlCase {
    pub(crate) input: String,
    pub(crate) base: Option<String>,
    /// The expected result; `None` if the URL is invalid.
    pub(crate) href: Option<String>,
}

/// Returns all cases of urltestdata.json.
pub(crate) fn url_cases() -> Vec<UrlCase> {
    let text = |case: &Value, name: &str| case[name].as_str().map(str::to_owned);
    let case = |case: &Value| UrlCase {
        input: text(case, "input").unwrap(),
        base: text(case, "base"),
        href: text(case, "href"),
    };
    objects(&read_data("url/urltestdata.json")).iter().map(case).collect()
}

/// Parses a file of web-platform-tests; the strings between the objects are comments.
pub(crate) fn objects(json: &str) -> Vec<Value> {
    let all: Vec<Value> = serde_json::from_str(&without_lone_surrogates(json)).unwrap();
    all.into_iter().filter(Value::is_object).collect()
}

/// Replaces each lone surrogate (`\uD800` to `\uDFFF` outside a pair) by U+FFFD, as browsers do.
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

/// Reads a file of the conformance data.
#[expect(clippy::disallowed_methods, reason = "test cases are in files; the tested code never reads one")]
pub(crate) fn read_data(name: &str) -> String {
    std::fs::read_to_string(testkit::data(name)).unwrap()
}
