//! When is a page visited again?

use std::time::Duration;

use super::DAY;
use crate::settings::section::section;

section! {
    /// When a page is visited again: no sooner than so long after the last visit.
    "revisit", RevisitSection {
        /// When that brought its content, or the way to another page.
        ok: Duration = 180 * DAY, within Duration::ZERO..=(3_650 * DAY), wire "manager/minperiod", applies at_once;
        /// When the server refused it.
        not_ok: Duration = 365 * DAY, within Duration::ZERO..=(3_650 * DAY), wire "manager/minperiod", applies at_once;
        /// When there was no answer, or trouble, and all tries were in vain.
        error: Duration = 30 * DAY, within Duration::ZERO..=(3_650 * DAY), wire "manager/minperiod", applies at_once;
    }
}
