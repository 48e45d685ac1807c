//! Memory limits.

use crate::settings::section::section;
use crate::settings::value::Size;

section! {
    /// Memory limits; they do not depend on the size of the collection.
    "memory", MemorySection {
        /// Maximum number of modified page records in memory, about 200 bytes each; then they are written.
        max_dirty_pages: u32 = 1 << 20, within 1_000..=100_000_000;
        /// Maximum number of modified site records in memory, about 250 bytes each; then they are written.
        max_dirty_sites: u32 = 1 << 17, within 1_000..=100_000_000;
        /// Entries of the URL cache, 12 bytes each.
        url_cache_entries: u32 = 1 << 22, within 1_000..=1_000_000_000;
        /// Memory limit of `weir analyze` and `weir sql`; a graph that does not fit is read from disk in every
        /// iteration.
        analysis: Size = Size(2 << 30), within Size(1_000_000)..=Size(1 << 40);
    }
}
