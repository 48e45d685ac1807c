//! How are host names made addresses?

use std::time::Duration;

use super::{DAY, HOUR, MINUTE, SECOND};
use crate::settings::place::{HostMap, NameServer};
use crate::settings::section::section;

section! {
    /// How host names are made addresses.
    "dns", DnsSection {
        /// The name servers that are asked; an empty list stands for those of this machine.
        servers: Vec<NameServer> = Vec::new(), wire "harvester/resolvconf";
        /// How many questions may be open at once.
        parallel: u32 = 100, within 1..=10_000;
        /// How many questions are asked in a second.
        per_second: u32 = 100, within 1..=100_000;
        /// How long a server may take to answer.
        timeout: Duration = 5 * SECOND, within SECOND..=MINUTE;
        /// An address counts at least so long, whatever its name server says.
        least_ttl: Duration = 10 * MINUTE, within Duration::ZERO..=(30 * DAY);
        /// And at most so long.
        most_ttl: Duration = DAY, within MINUTE..=(30 * DAY);
        /// How long a name that does not exist is not asked for again.
        negative_ttl: Duration = HOUR, within SECOND..=(30 * DAY);
        /// Addresses that are not asked for: { "www.example.org" = "192.0.2.7" }.
        hosts: HostMap = HostMap::default();
    }
}
