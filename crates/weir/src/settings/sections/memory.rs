//! Memory limits.

use crate::settings::section::section;
use crate::settings::value::Size;

section! {
    /// Memory limits of a collection, independent of its size.
    "memory", MemorySection {
        /// Modified page records before a forced write, about 200 bytes each.
        max_dirty_pages: u32 = 1 << 20, within 1_000..=100_000_000;
        /// Modified site records before a forced write, about 250 bytes each.
        max_dirty_sites: u32 = 1 << 17, within 1_000..=100_000_000;
        /// Entries of the URL cache, 12 bytes each.
        url_cache_entries: u32 = 1 << 22, within 1_000..=1_000_000_000;
        /// Memory limit of `weir analyze` and `weir sql`; a graph that does not fit is read from disk in every
        /// iteration.
        analysis: Size = Size(2 << 30), within Size(1_000_000)..=Size(1 << 40);
    }
}
