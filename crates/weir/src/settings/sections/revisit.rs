//! When is a page visited again?

use std::time::Duration;

use super::DAY;
use crate::settings::section::section;

section! {
    /// When a page is visited again: not before this time has passed, or not at all if it is "none".
    "revisit", RevisitSection {
        /// After a visit that brought its content.
        ok: Option<Duration> = None, wire "manager/minperiod", applies at_once;
        /// After an answer without content, such as 404 Not Found.
        not_ok: Option<Duration> = None, wire "manager/minperiod", applies at_once;
        /// After no answer.
        error: Option<Duration> = Some(DAY), wire "manager/minperiod", applies at_once;
    }
}
