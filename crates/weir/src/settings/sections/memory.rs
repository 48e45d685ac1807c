//! How much memory does the collection take, whatever its size?

use crate::settings::section::section;
use crate::settings::value::Size;

section! {
    /// How much memory the collection takes, whatever its size.
    "memory", MemorySection {
        /// How many pages may have changed before a commit writes their state anew; some 200 bytes each.
        changed_pages: u32 = 1 << 20, within 1_000..=100_000_000;
        /// The same for sites; some 250 bytes each.
        changed_sites: u32 = 1 << 17, within 1_000..=100_000_000;
        /// How many URLs are known without a look at the disk; 12 bytes each.
        cached_urls: u32 = 1 << 22, within 1_000..=1_000_000_000;
        /// What an analysis or a query takes; links that do not fit are read from the disk again and again.
        analysis: Size = Size(2 << 30), within Size(1_000_000)..=Size(1 << 40);
    }
}
