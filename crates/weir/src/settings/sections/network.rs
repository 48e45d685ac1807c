//! Networks and ports that are never contacted.

use crate::settings::network_values::Network;
use crate::settings::section::section;

section! {
    /// Networks and ports that are never contacted, not even if a DNS response or a redirect leads there. Loopback, private and
    /// cloud-metadata ranges are blocked by default.
    "network", NetworkSection {
        /// Additional networks (CIDR) that are never contacted.
        blocked_networks: Vec<Network> = Vec::new(), wire "harvester/blocked-ip";
        /// Exceptions to the blocked networks, such as "10.1.0.0/16" for the crawl of an intranet.
        allowed_networks: Vec<Network> = Vec::new();
        /// Exceptions to the ports that are never contacted because they belong to other protocols (the "bad ports" of browsers:
        /// 25, 110, 6667 and others).
        allowed_ports: Vec<u16> = Vec::new();
    }
}
