//! Any text is a valid query of a stream or an error; a formatted query is parsed back to itself.
#![no_main]

use libfuzzer_sys::fuzz_target;
use store::StreamCursor;
use stream::StreamQuery;

fuzz_target!(|text: &str| {
    if let Ok(query) = StreamQuery::parse_query(text) {
        assert_eq!(StreamQuery::parse_query(&query.to_query()), Ok(query));
    }
    if let Ok(cursor) = text.parse::<StreamCursor>() {
        assert_eq!(cursor.to_string().parse::<StreamCursor>().ok(), Some(cursor));
    }
});
