//! Filter of IP addresses that may be contacted: by default the public Internet.
//!
//! Every rule is a network; the narrowest network that contains an address decides. An IPv6 address that embeds an IPv4
//! address is permitted only if the IPv4 address is permitted too, so that a block of 127.0.0.1 covers all its forms.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use crate::error::Error;

/// IPv4 networks outside the public Internet (IANA special-purpose registry), and 168.63.129.16, the public address of
/// the metadata service of Azure.
const NON_PUBLIC_V4: [&str; 16] = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "168.63.129.16/32",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
];

/// The only IPv6 networks in public use: global unicast (2000::/3) and NAT64. Loopback, local, link-local and multicast
/// addresses are outside.
const PUBLIC_V6: [&str; 2] = ["2000::/3", "64:ff9b::/96"];
const NON_PUBLIC_V6: [&str; 6] =
    ["::/0", "2001:2::/48", "2001:10::/28", "2001:20::/28", "2001:db8::/32", "3fff::/20"];

/// Set of IP addresses that may be contacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkFilter {
    /// Narrowest network first; the flag permits.
    rules: Vec<(Network, bool)>,
}

impl Default for NetworkFilter {
    fn default() -> NetworkFilter {
        NetworkFilter::public()
    }
}

impl NetworkFilter {
    /// Permits the public Internet: no loopback, private, link-local, shared, multicast, reserved or documentation
    /// addresses, and no cloud metadata services.
    pub fn public() -> NetworkFilter {
        let mut filter = NetworkFilter { rules: Vec::new() };
        let blocked = NON_PUBLIC_V4.iter().chain(&NON_PUBLIC_V6).map(|network| (network, false));
        for (network, permitted) in blocked.chain(PUBLIC_V6.iter().map(|network| (network, true))) {
            // The tables are well formed; a test checks this.
            if let Ok(network) = network.parse() {
                filter.add_rule(network, permitted);
            }
        }
        filter
    }

    /// Blocks `network` (`10.0.0.0/8`, `192.0.2.1`), except narrower networks that are allowed.
    pub fn block(&mut self, network: &str) -> Result<(), Error> {
        self.add_rule(network.parse()?, false);
        Ok(())
    }

    /// Allows `network`, except narrower networks that are blocked.
    pub fn allow(&mut self, network: &str) -> Result<(), Error> {
        self.add_rule(network.parse()?, true);
        Ok(())
    }

    /// Whether this address may be contacted.
    pub fn permits(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(address) => self.lookup(Network::host(address.into())),
            // The operating system connects to the IPv4 address.
            IpAddr::V6(address) if address.to_ipv4_mapped().is_some() => self.permits(address.to_canonical()),
            IpAddr::V6(address) => {
                self.lookup(Network::host(address.into()))
                    && embedded_ipv4(address).into_iter().flatten().all(|inner| self.permits(inner.into()))
            }
        }
    }

    fn add_rule(&mut self, network: Network, permitted: bool) {
        self.rules.retain(|(known, _)| *known != network);
        let index = self.rules.partition_point(|(known, _)| known.prefix_bits > network.prefix_bits);
        self.rules.insert(index, (network, permitted));
    }

    fn lookup(&self, host: Network) -> bool {
        self.rules.iter().find(|(network, _)| network.contains(host)).is_none_or(|(_, permitted)| *permitted)
    }
}

/// IPv4 addresses that packets to an IPv6 address may be routed to: IPv4-compatible addresses, 6to4, NAT64, Teredo
/// (server and client) and ISATAP.
fn embedded_ipv4(address: Ipv6Addr) -> [Option<Ipv4Addr>; 2] {
    let bits = address.to_bits();
    let at = |shift: u32| Some(Ipv4Addr::from_bits((bits >> shift) as u32));
    let [first, second, third, ..] = address.segments();
    match (first, second, third) {
        (0x2002, ..) => [at(80), None],
        (0x2001, 0, _) => [at(64), Some(Ipv4Addr::from_bits(!bits as u32))],
        (0x64, 0xff9b, _) => [at(0), None],
        // The unspecified address and loopback embed no IPv4 address.
        _ if bits <= 1 => [None, None],
        _ if bits >> 32 == 0 => [at(0), None],
        // ISATAP; the masked bit says whether the IPv4 address is globally unique.
        _ if (bits >> 32) as u32 & !0x0200_0000 == 0x5efe => [at(0), None],
        _ => [None, None],
    }
}

/// Network as a prefix of an IPv6 address; IPv4 networks in their mapped form (::ffff:0:0/96).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Network {
    bits: u128,
    prefix_bits: u32,
    is_v4: bool,
}

impl Network {
    fn new(address: IpAddr, prefix_bits: u32) -> Network {
        let (bits, prefix_bits) = match address {
            IpAddr::V4(address) => (address.to_ipv6_mapped().to_bits(), prefix_bits + 96),
            IpAddr::V6(address) => (address.to_bits(), prefix_bits),
        };
        Network { bits: bits & mask(prefix_bits), prefix_bits, is_v4: address.is_ipv4() }
    }

    fn host(address: IpAddr) -> Network {
        Network::new(address, if address.is_ipv4() { 32 } else { 128 })
    }

    fn contains(self, host: Network) -> bool {
        self.is_v4 == host.is_v4 && host.bits & mask(self.prefix_bits) == self.bits
    }
}

fn mask(prefix_bits: u32) -> u128 {
    u128::MAX.checked_shl(128 - prefix_bits).unwrap_or(0)
}

impl FromStr for Network {
    type Err = Error;

    fn from_str(text: &str) -> Result<Network, Error> {
        let invalid = || Error::InvalidNetwork(text.to_owned());
        let (address, prefix) =
            text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
        let address: IpAddr = address.parse().map_err(|_| invalid())?;
        let address = address.to_canonical();
        let max_bits = if address.is_ipv4() { 32 } else { 128 };
        let prefix_bits = prefix.map_or(Ok(max_bits), str::parse).map_err(|_| invalid())?;
        if prefix_bits > max_bits {
            return Err(invalid());
        }
        Ok(Network::new(address, prefix_bits))
    }
}

impl fmt::Display for Network {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = IpAddr::from(Ipv6Addr::from_bits(self.bits));
        if self.is_v4 {
            write!(out, "{}/{}", address.to_canonical(), self.prefix_bits - 96)
        } else {
            write!(out, "{address}/{}", self.prefix_bits)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permits(filter: &NetworkFilter, address: &str) -> bool {
        filter.permits(address.parse().unwrap())
    }

    #[test]
    fn the_tables_are_well_formed() {
        let written = NON_PUBLIC_V4.len() + NON_PUBLIC_V6.len() + PUBLIC_V6.len();
        let filter = NetworkFilter::public();
        assert_eq!(filter.rules.len(), written);
        for (network, _) in filter.rules {
            assert_eq!(network.to_string().parse::<Network>().unwrap(), network);
        }
    }

    #[test]
    fn the_public_internet_is_permitted() {
        let filter = NetworkFilter::public();
        for address in
            ["93.184.215.14", "8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:2800:21f::1", "2a00:1450::1"]
        {
            assert!(permits(&filter, address), "{address}");
        }
        assert!(permits(&filter, "64:ff9b::8.8.8.8") && permits(&filter, "2002:808:808::1"));
    }

    #[test]
    #[rustfmt::skip]
    fn special_purpose_addresses_are_blocked() {
        let filter = NetworkFilter::public();
        for address in [
            "127.0.0.1", "127.255.255.255", "0.0.0.0", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1",
            "169.254.169.254", "168.63.129.16", "100.64.0.1", "100.100.100.200", "192.0.0.192", "192.0.2.1",
            "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
            "::", "::1", "fd00:ec2::254", "fc00::1", "fe80::1", "fec0::1", "ff02::1", "2001:db8::1", "100::1",
            "64:ff9b:1::8.8.8.8", "3fff::1", "5f00::1",
        ] {
            assert!(!permits(&filter, address), "{address}");
        }
    }

    #[test]
    fn every_ipv6_form_of_a_blocked_ipv4_address_is_blocked() {
        let filter = NetworkFilter::public();
        for address in [
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "64:ff9b::127.0.0.1",
            "64:ff9b::10.0.0.1",
            "2002:7f00:1::1",
            "2002:a9fe:a9fe::",
            "2001:0:4136:e378:8000:63bf:80ff:fffe",
            "2001:0:7f00:1::1",
            "2a00::200:5efe:192.168.0.1",
            "2a00::5efe:127.0.0.1",
        ] {
            assert!(!permits(&filter, address), "{address}");
        }
        // The same forms of a public address are permitted: the client of this Teredo address is 1.2.3.4.
        assert!(permits(&filter, "2001:0:4136:e378:8000:63bf:fefd:fcfb"));
        assert!(permits(&filter, "::ffff:8.8.8.8"));
    }

    #[test]
    fn the_narrowest_rule_decides_and_a_later_rule_replaces_an_earlier_one() {
        let mut filter = NetworkFilter::public();
        filter.allow("127.0.0.0/8").unwrap();
        assert!(permits(&filter, "127.0.0.1") && permits(&filter, "::ffff:127.0.0.1"));
        filter.block("127.0.0.2").unwrap();
        assert!(!permits(&filter, "127.0.0.2") && permits(&filter, "127.0.0.3"));
        filter.block("127.0.0.0/8").unwrap();
        assert!(!permits(&filter, "127.0.0.3"));
        filter.block("2a00::/12").unwrap();
        assert!(!permits(&filter, "2a00:1450::1"));
        filter.allow("::1").unwrap();
        assert!(permits(&filter, "::1") && !permits(&filter, "::2"));
    }

    #[test]
    fn other_texts_are_rejected() {
        let mut filter = NetworkFilter::public();
        for text in
            ["", "10", "10.0.0.0/33", "::/129", "10.0.0.0/-1", "10.0.0.0/8/8", "example.com", "10.0.0.0/"]
        {
            assert!(matches!(filter.block(text), Err(Error::InvalidNetwork(_))), "{text}");
        }
    }
}
