//! Web server of `weir serve` and `weir crawl --serve`.

use crate::settings::section::section;

section! {
    /// Web server of `weir serve` and `weir crawl --serve`.
    "web", WebSection {
        /// Host names accepted in the Host header besides "localhost" and IP addresses, such as "search.example.org"
        /// (DNS rebinding protection).
        allowed_hosts: Vec<String> = Vec::new();
    }
}
