//! Parses any text as a `--where` condition: it is valid, or the error has a position.
#![no_main]

use libfuzzer_sys::fuzz_target;
use store::Predicate;

fuzz_target!(|text: &str| {
    match text.parse::<Predicate>() {
        Ok(predicate) => assert_eq!(predicate.to_string(), text),
        Err(error) => assert!((1..=text.chars().count() + 1).contains(&error.column)),
    }
});
