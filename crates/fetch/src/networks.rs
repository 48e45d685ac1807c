//! Which addresses may a crawler ask? Those of the public Internet, unless the settings say otherwise.
//!
//! Every rule is a network; the narrowest that holds an address decides. An IPv6 address that stands for an IPv4 address
//! is permitted only if that one is, too: who blocks 127.0.0.1 means every way to write it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use crate::error::Error;

/// What is not part of the public Internet (IANA's registries of special addresses), and the one public address that a
/// cloud answers with its metadata.
const NOT_PUBLIC: [&str; 16] = [
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

/// In IPv6 only one eighth was ever given out, which leaves loopback, local, link-local and multicast addresses out.
const PUBLIC_6: [&str; 2] = ["2000::/3", "64:ff9b::/96"];
const NOT_PUBLIC_6: [&str; 6] =
    ["::/0", "2001:2::/48", "2001:10::/28", "2001:20::/28", "2001:db8::/32", "3fff::/20"];

/// Which addresses may be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Networks {
    /// The narrowest first.
    rules: Vec<(Network, bool)>,
}

impl Default for Networks {
    fn default() -> Networks {
        Networks::public()
    }
}

impl Networks {
    /// The public Internet: no loopback, private, link-local, shared, multicast, reserved or documentation addresses, and
    /// no metadata services.
    pub fn public() -> Networks {
        let mut networks = Networks { rules: Vec::new() };
        let blocked = NOT_PUBLIC.iter().chain(&NOT_PUBLIC_6).map(|network| (network, false));
        for (network, permitted) in blocked.chain(PUBLIC_6.iter().map(|network| (network, true))) {
            // The tables are well formed; a test looks.
            if let Ok(network) = network.parse() {
                networks.rule(network, permitted);
            }
        }
        networks
    }

    /// Nobody in `network` (`10.0.0.0/8`, `192.0.2.1`) is asked.
    pub fn block(&mut self, network: &str) -> Result<(), Error> {
        self.rule(network.parse()?, false);
        Ok(())
    }

    /// All in `network` may be asked, but for narrower networks that are blocked.
    pub fn allow(&mut self, network: &str) -> Result<(), Error> {
        self.rule(network.parse()?, true);
        Ok(())
    }

    /// Whether this address may be asked.
    pub fn permits(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(address) => self.decide(Network::host(address.into())),
            // For the system this is the IPv4 address and no other.
            IpAddr::V6(address) if address.to_ipv4_mapped().is_some() => self.permits(address.to_canonical()),
            IpAddr::V6(address) => {
                self.decide(Network::host(address.into()))
                    && embedded(address).into_iter().flatten().all(|inner| self.permits(inner.into()))
            }
        }
    }

    fn rule(&mut self, network: Network, permitted: bool) {
        self.rules.retain(|(known, _)| *known != network);
        let place = self.rules.partition_point(|(known, _)| known.prefix_bits > network.prefix_bits);
        self.rules.insert(place, (network, permitted));
    }

    fn decide(&self, host: Network) -> bool {
        self.rules.iter().find(|(network, _)| network.holds(host)).is_none_or(|(_, permitted)| *permitted)
    }
}

/// The IPv4 addresses that packets to an IPv6 address may end at: compatible addresses, 6to4, NAT64, Teredo (its server
/// and its client) and ISATAP.
fn embedded(address: Ipv6Addr) -> [Option<Ipv4Addr>; 2] {
    let bits = address.to_bits();
    let at = |shift: u32| Some(Ipv4Addr::from_bits((bits >> shift) as u32));
    let [first, second, third, ..] = address.segments();
    match (first, second, third) {
        (0x2002, ..) => [at(80), None],
        (0x2001, 0, _) => [at(64), Some(Ipv4Addr::from_bits(!bits as u32))],
        (0x64, 0xff9b, _) => [at(0), None],
        // These two are themselves and stand for nobody else.
        _ if bits <= 1 => [None, None],
        _ if bits >> 32 == 0 => [at(0), None],
        // The bit in the first half tells whether the address is unique in the world.
        _ if (bits >> 32) as u32 & !0x0200_0000 == 0x5efe => [at(0), None],
        _ => [None, None],
    }
}

/// A network, as the first bits of an IPv6 address; IPv4 lies in its mapped form.
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

    fn holds(self, host: Network) -> bool {
        self.is_v4 == host.is_v4 && host.bits & mask(self.prefix_bits) == self.bits
    }
}

fn mask(prefix_bits: u32) -> u128 {
    u128::MAX.checked_shl(128 - prefix_bits).unwrap_or(0)
}

impl FromStr for Network {
    type Err = Error;

    fn from_str(text: &str) -> Result<Network, Error> {
        let bad = || Error::BadNetwork(text.to_owned());
        let (address, prefix) =
            text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
        let address: IpAddr = address.parse().map_err(|_| bad())?;
        let address = address.to_canonical();
        let most = if address.is_ipv4() { 32 } else { 128 };
        let prefix_bits = prefix.map_or(Ok(most), str::parse).map_err(|_| bad())?;
        if prefix_bits > most {
            return Err(bad());
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

    fn permits(networks: &Networks, address: &str) -> bool {
        networks.permits(address.parse().unwrap())
    }

    #[test]
    fn the_tables_are_well_formed() {
        let written = NOT_PUBLIC.len() + NOT_PUBLIC_6.len() + PUBLIC_6.len();
        let networks = Networks::public();
        assert_eq!(networks.rules.len(), written);
        for (network, _) in networks.rules {
            assert_eq!(network.to_string().parse::<Network>().unwrap(), network);
        }
    }

    #[test]
    fn the_public_internet_is_permitted() {
        let networks = Networks::public();
        for address in
            ["93.184.215.14", "8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:2800:21f::1", "2a00:1450::1"]
        {
            assert!(permits(&networks, address), "{address}");
        }
        assert!(permits(&networks, "64:ff9b::8.8.8.8") && permits(&networks, "2002:808:808::1"));
    }

    #[test]
    #[rustfmt::skip]
    fn nothing_else_is() {
        let networks = Networks::public();
        for address in [
            "127.0.0.1", "127.255.255.255", "0.0.0.0", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1",
            "169.254.169.254", "168.63.129.16", "100.64.0.1", "100.100.100.200", "192.0.0.192", "192.0.2.1",
            "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
            "::", "::1", "fd00:ec2::254", "fc00::1", "fe80::1", "fec0::1", "ff02::1", "2001:db8::1", "100::1",
            "64:ff9b:1::8.8.8.8", "3fff::1", "5f00::1",
        ] {
            assert!(!permits(&networks, address), "{address}");
        }
    }

    #[test]
    fn every_way_to_write_a_blocked_address_is_blocked() {
        let networks = Networks::public();
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
            assert!(!permits(&networks, address), "{address}");
        }
        // The same forms of a public address are fine: the client of this Teredo address is 1.2.3.4.
        assert!(permits(&networks, "2001:0:4136:e378:8000:63bf:fefd:fcfb"));
        assert!(permits(&networks, "::ffff:8.8.8.8"));
    }

    #[test]
    fn the_narrowest_rule_decides_and_the_last_word_counts() {
        let mut networks = Networks::public();
        networks.allow("127.0.0.0/8").unwrap();
        assert!(permits(&networks, "127.0.0.1") && permits(&networks, "::ffff:127.0.0.1"));
        networks.block("127.0.0.2").unwrap();
        assert!(!permits(&networks, "127.0.0.2") && permits(&networks, "127.0.0.3"));
        networks.block("127.0.0.0/8").unwrap();
        assert!(!permits(&networks, "127.0.0.3"));
        networks.block("2a00::/12").unwrap();
        assert!(!permits(&networks, "2a00:1450::1"));
        networks.allow("::1").unwrap();
        assert!(permits(&networks, "::1") && !permits(&networks, "::2"));
    }

    #[test]
    fn other_texts_are_no_networks() {
        let mut networks = Networks::public();
        for text in
            ["", "10", "10.0.0.0/33", "::/129", "10.0.0.0/-1", "10.0.0.0/8/8", "example.com", "10.0.0.0/"]
        {
            assert!(matches!(networks.block(text), Err(Error::BadNetwork(_))), "{text}");
        }
    }
}
