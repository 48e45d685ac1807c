//! How are pages found by their text?

use crate::settings::section::section;
use crate::settings::value::Size;

section! {
    /// How pages are found by their text.
    "search", SearchSection {
        /// Whether the index knows where words stand: phrases and distances need it, and three quarters of the index are for it. Changed, the next `weir index` builds anew.
        positions: bool = true;
        /// What indexing takes of memory; more makes fewer, larger pieces, which are searched faster.
        memory: Size = Size(512 << 20), within Size(64 << 20)..=Size(1 << 40);
    }
}
