//! Any text may be typed as a query: it is read or pointed at, and what was read is written so that it reads the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use search::Query;

fuzz_target!(|text: &str| {
    match Query::parse(text) {
        Ok(query) => assert_eq!(Query::parse(&query.to_string()), Ok(query)),
        Err(error) => {
            assert!((1..=text.chars().count() + 1).contains(&error.column));
            assert!(error.pointed(text).ends_with('^'));
        }
    }
    let any = Query::about(text);
    assert!(any.is_none_or(|query| query.link_conditions().is_empty()));
});
