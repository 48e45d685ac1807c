//! How are host names made addresses?

use std::time::Duration;

use super::{DAY, MINUTE, SECOND};
use crate::settings::place::{HostMap, NameServer};
use crate::settings::section::section;

section! {
    /// How host names are made addresses.
    "dns", DnsSection {
        /// The name servers that are asked; an empty list stands for those of this machine.
        servers: Vec<NameServer> = Vec::new(), wire "harvester/resolvconf";
        /// How many names are asked for at the same time.
        names_at_once: u32 = 100, within 1..=10_000;
        /// How many are asked for in a second.
        names_per_second: u32 = 500, within 1..=1_000_000;
        /// How long a server may take to answer.
        timeout: Duration = 5 * SECOND, within SECOND..=MINUTE;
        /// How often a question is asked.
        tries: u8 = 2, within 1..=20;
        /// An address counts at least so long, whatever its name server says.
        least_ttl: Duration = 10 * MINUTE, within Duration::ZERO..=(30 * DAY);
        /// And at most so long.
        most_ttl: Duration = DAY, within SECOND..=(30 * DAY);
        /// How long nobody is asked again for a name that does not exist, or of which nobody could tell.
        failure_ttl: Duration = 10 * MINUTE, within SECOND..=(30 * DAY);
        /// How many names are remembered.
        cache: u32 = 200_000, within 1..=100_000_000;
        /// Addresses that are not asked for: { "www.example.org" = "192.0.2.7" }.
        hosts: HostMap = HostMap::default();
    }
}
