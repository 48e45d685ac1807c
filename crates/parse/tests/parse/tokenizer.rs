//! Conformance test of the tokenizer with html5lib-tests: every case of every file, in every state it names.
//!
//! Two details differ from the cases. Parse errors are not compared, because the tokenizer does not report them. Lone
//! surrogates, which JSON can express and UTF-8 cannot, are U+FFFD on both sides, as after decoding a page.
#![allow(clippy::disallowed_methods, reason = "a test reads its cases from files")]

use std::io::Read;
use std::path::{Path, PathBuf};

use parse::html::{Characters, Content, Doctype, Tag, TokenSink, Tokenizer};
use serde_json::{Value, json};

#[test]
fn all_html5lib_cases_pass() {
    let mut cases = 0;
    let mut failures = Vec::new();
    for file in test_files(&testkit::data("html")) {
        let tests: Value = serde_json::from_str(&read(&file)).unwrap();
        for case in tests["tests"].as_array().unwrap() {
            cases += 1;
            failures.extend(check(case).map(|failure| format!("{}: {failure}", file.display())));
        }
    }
    assert!(failures.is_empty(), "{} of {cases} cases:\n{}", failures.len(), failures.join("\n"));
    assert!(cases >= 6_805, "only {cases} cases were found");
}

fn test_files(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.to_string_lossy().contains(".test"));
    files.sort();
    files
}

fn read(file: &Path) -> String {
    let bytes = std::fs::read(file).unwrap();
    let mut text = String::new();
    if file.extension().is_some_and(|extension| extension == "gz") {
        flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
    } else {
        text = String::from_utf8(bytes).unwrap();
    }
    without_lone_surrogates(&text)
}

/// Replaces escapes of lone surrogates in JSON by U+FFFD.
fn without_lone_surrogates(json: &str) -> String {
    let bytes = json.as_bytes();
    let unit = |at: usize| -> Option<u16> {
        let escape = bytes.get(at..at + 6).filter(|escape| escape.starts_with(b"\\u"))?;
        u16::from_str_radix(std::str::from_utf8(&escape[2..]).ok()?, 16).ok()
    };
    let mut out = String::with_capacity(json.len());
    let mut at = 0;
    while at < json.len() {
        match (unit(at), unit(at + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => {
                out.push_str(&json[at..at + 12]);
                at += 12;
            }
            (Some(0xd800..=0xdfff), _) => {
                out.push_str("\\uFFFD");
                at += 6;
            }
            _ => {
                let next = json[at..].chars().next().unwrap();
                out.push(next);
                at += next.len_utf8();
            }
        }
    }
    out
}

fn check(case: &Value) -> Option<String> {
    let escaped = case["doubleEscaped"].as_bool().unwrap_or(false);
    let input = unescape(case["input"].as_str().unwrap(), escaped);
    let expected = merge_characters(unescape_all(&case["output"], escaped).as_array().unwrap());
    let element = case["lastStartTag"].as_str().unwrap_or_default();
    let default_states = vec![json!("Data state")];
    let states = case["initialStates"].as_array().unwrap_or(&default_states);
    states.iter().find_map(|state| {
        let mut tokens = Tokens(Vec::new());
        // The CDATA cases of the Data state assume a page outside SVG and MathML.
        Tokenizer::inside(&input, content(state.as_str().unwrap()), element).run(&mut tokens);
        let got = merge_characters(&tokens.0);
        (got != expected).then(|| format!("{state} {input:?}\n   got {got:?}\n  want {expected:?}"))
    })
}

fn content(state: &str) -> Content {
    match state {
        "Data state" => Content::Markup,
        "PLAINTEXT state" => Content::Plaintext,
        "RCDATA state" => Content::Rcdata,
        "RAWTEXT state" => Content::Rawtext,
        "Script data state" => Content::Script,
        "CDATA section state" => Content::Cdata,
        other => panic!("unknown state {other}"),
    }
}

fn unescape_all(value: &Value, escaped: bool) -> Value {
    match value {
        Value::String(text) => Value::String(unescape(text, escaped)),
        Value::Array(items) => items.iter().map(|item| unescape_all(item, escaped)).collect(),
        Value::Object(map) => {
            map.iter().map(|(key, item)| (unescape(key, escaped), unescape_all(item, escaped))).collect()
        }
        other => other.clone(),
    }
}

fn unescape(text: &str, escaped: bool) -> String {
    if !escaped {
        return text.to_owned();
    }
    serde_json::from_str(&without_lone_surrogates(&format!("\"{}\"", text.replace('"', "\\\"")))).unwrap()
}

fn merge_characters(tokens: &[Value]) -> Vec<Value> {
    let mut merged: Vec<Value> = Vec::new();
    for token in tokens {
        match merged.last_mut() {
            Some(last) if last[0] == "Character" && token[0] == "Character" => {
                let text = format!("{}{}", last[1].as_str().unwrap(), token[1].as_str().unwrap());
                last[1] = Value::String(text);
            }
            _ => merged.push(token.clone()),
        }
    }
    merged
}

/// Tokens in the form of the test files.
struct Tokens(Vec<Value>);

impl TokenSink for Tokens {
    fn text(&mut self, text: Characters<'_>) {
        self.0.push(json!(["Character", text.decoded()]));
    }

    fn start_tag(&mut self, tag: &Tag<'_, '_>) -> Content {
        let mut attributes = serde_json::Map::new();
        for attribute in tag.attributes {
            attributes
                .entry(attribute.name().into_owned())
                .or_insert_with(|| Value::String(attribute.value().into_owned()));
        }
        let mut token = json!(["StartTag", tag.name(), attributes]);
        if tag.self_closing {
            token.as_array_mut().unwrap().push(json!(true));
        }
        self.0.push(token);
        Content::Markup
    }

    fn end_tag(&mut self, tag: &Tag<'_, '_>) {
        self.0.push(json!(["EndTag", tag.name()]));
    }

    fn comment(&mut self, text: Characters<'_>) {
        self.0.push(json!(["Comment", text.decoded()]));
    }

    fn doctype(&mut self, doctype: &Doctype<'_>) {
        let public = doctype.public_id().map(|id| id.decoded());
        let system = doctype.system_id().map(|id| id.decoded());
        self.0.push(json!(["DOCTYPE", doctype.name(), public, system, !doctype.quirks]));
    }
}
