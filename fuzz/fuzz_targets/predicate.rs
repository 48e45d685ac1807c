//! Any text may stand behind `where`: it is read or pointed at.
#![no_main]

use libfuzzer_sys::fuzz_target;
use store::Predicate;

fuzz_target!(|text: &str| {
    match text.parse::<Predicate>() {
        Ok(predicate) => assert_eq!(predicate.to_string(), text),
        Err(wrong) => assert!((1..=text.chars().count() + 1).contains(&wrong.column)),
    }
});
