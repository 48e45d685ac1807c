//! Any string may be what a page or its server wants of robots: its words read back as the same wishes.
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
