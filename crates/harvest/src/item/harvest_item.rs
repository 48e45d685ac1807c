//! Items that harvesters send to the seeder.

use model::PageId;

use crate::item::fetched_page::FetchedPage;
use crate::item::gathered_page::GatheredPage;
use crate::item::harvest_event::HarvestEvent;
use crate::item::log_cursor::LogCursor;

/// Item that a harvester or worker delivers.
#[derive(Debug)]
pub enum HarvestItem {
    /// Parsed page.
    Gathered(Box<GatheredPage>),
    /// Page as received, from a harvester without a gatherer.
    Fetched(PageId, Box<FetchedPage>),
    /// Event without page content.
    Event(HarvestEvent),
    /// All items up to this entry in the log of a remote batch were delivered.
    Cursor(LogCursor),
}
