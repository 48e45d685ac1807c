//! Parses any string as robots directives: formatted directives are parsed back to the same value.
#![no_main]

use libfuzzer_sys::fuzz_target;
use parse::RobotsDirectives;

fuzz_target!(|value: &str| {
    for directives in [RobotsDirectives::from_meta(value), RobotsDirectives::from_header(value, "weir")] {
        assert_eq!(directives.merge(directives), directives);
        let mut read_back = RobotsDirectives::from_meta(&directives.to_string());
        read_back.unavailable_after = directives.unavailable_after;
        assert_eq!(read_back, directives);
    }
});
