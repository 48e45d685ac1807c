//! How is a collection shown in browsers?

use crate::settings::section::section;

section! {
    /// How a collection is shown in browsers, by `weir serve`.
    "web", WebSection {
        /// Names under which the server may be asked, besides "localhost" and addresses, such as "search.example.org". Others
        /// are refused, since a page of the Web can let its own name lead to this machine.
        names: Vec<String> = Vec::new();
    }
}
