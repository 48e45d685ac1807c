//! Which addresses must not be asked?

use crate::settings::place::Network;
use crate::settings::section::section;

section! {
    /// Which addresses must not be asked, whatever a name server or a redirect says. Without a word here these are all that
    /// are not of the public Internet: this machine, private networks, services of cloud machines.
    "network", NetworkSection {
        /// Networks that are not asked besides those.
        blocked: Vec<Network> = Vec::new(), wire "harvester/blocked-ip";
        /// Networks that may be asked all the same, such as "10.1.0.0/16" for a crawl of an intranet.
        allowed: Vec<Network> = Vec::new();
    }
}
