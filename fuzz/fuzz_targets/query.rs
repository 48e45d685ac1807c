//! Any text is a valid query or a syntax error with a position; a formatted query is parsed back to itself.
#![no_main]

use libfuzzer_sys::fuzz_target;
use search::Query;

fuzz_target!(|text: &str| {
    match Query::parse(text) {
        Ok(query) => {
            let again = Query::parse(&query.to_string());
            assert_eq!(again.as_ref().map(Query::condition), Ok(query.condition()));
        }
        Err(error) => {
            assert!((1..=text.chars().count() + 1).contains(&error.column));
            assert!(error.point_at(text).ends_with('^'));
        }
    }
    let any = Query::any_word(text);
    assert!(any.is_none_or(|query| query.link_conditions().is_empty()));
});
