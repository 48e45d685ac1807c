//! Parses any text as a settings file: it is rejected with a message, or written and parsed back to the same settings, and
//! its conversion to the settings of the crates does not panic.
#![no_main]
#![allow(
    dead_code,
    unused_imports,
    reason = "the settings are those of the binary, of which a part is used here"
)]

#[path = "../../crates/weir/src/settings/mod.rs"]
mod settings;

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use settings::Settings;

/// The error type of the binary.
mod exit {
    #[derive(Debug)]
    pub(crate) struct UsageError(pub(crate) String);

    impl std::fmt::Display for UsageError {
        fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            out.write_str(&self.0)
        }
    }

    impl std::error::Error for UsageError {}
}

/// The number format of the binary.
mod human {
    pub(crate) fn plural(count: u64, noun: &str) -> String {
        format!("{count} {noun}s")
    }
}

/// The access control of the binary.
mod server_auth {
    #[derive(Default)]
    pub(crate) struct ServerAuth {
        pub(crate) token: Option<web::Token>,
        pub(crate) tls: Option<web::Tls>,
    }
}

fuzz_target!(|text: &str| {
    let settings = match Settings::parse(text) {
        Ok(settings) => settings,
        Err(message) => return assert!(!message.is_empty()),
    };
    let written = settings.to_toml();
    match Settings::parse(&written) {
        Ok(again) => assert_eq!(settings.changes(&again), [], "{written}"),
        Err(message) => panic!("{message}\n{written}"),
    }
    // Words and hosts may be in files of the collection, which does not exist here.
    let _ = settings.crawl_settings(Path::new("/nonexistent"));
    settings.store_settings();
    settings.url_rules();
});
