//! Groups of IP addresses that count as one machine: for politeness, claims of batches, and limits per client.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Bits of an IPv6 address that identify its network (RFC 4291, section 2.5.4). The owner of a network can use all of its
/// 2^64 addresses, so a single address does not identify a machine.
const IPV6_NETWORK_BITS: u32 = 64;
/// Prefix of IPv4 addresses behind NAT64 (RFC 6052): 64:ff9b::/96.
const NAT64_PREFIX: u128 = 0x0064_ff9b << 96;

/// One IPv4 address, or all IPv6 addresses with the same first 64 bits. An IPv4 address in its IPv6 form, mapped or by
/// NAT64, belongs to the group of the IPv4 address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AddressGroup(IpAddr);

impl From<IpAddr> for AddressGroup {
    fn from(address: IpAddr) -> AddressGroup {
        let IpAddr::V6(address) = address.to_canonical() else { return AddressGroup(address.to_canonical()) };
        let bits = address.to_bits();
        let (nat64, ipv4) = (bits >> 32 << 32, bits as u32);
        if nat64 == NAT64_PREFIX {
            return AddressGroup(Ipv4Addr::from_bits(ipv4).into());
        }
        let host_bits = u128::BITS - IPV6_NETWORK_BITS;
        AddressGroup(Ipv6Addr::from_bits(bits >> host_bits << host_bits).into())
    }
}

impl fmt::Display for AddressGroup {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IpAddr::V4(address) => address.fmt(out),
            IpAddr::V6(network) => write!(out, "{network}/{IPV6_NETWORK_BITS}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(text: &str) -> AddressGroup {
        AddressGroup::from(text.parse::<IpAddr>().unwrap())
    }

    #[test]
    fn a_group_is_one_ipv4_address_or_one_ipv6_network() {
        assert_eq!(group("2001:db8::1"), group("2001:db8::ffff:1"));
        assert_ne!(group("2001:db8::1"), group("2001:db8:0:1::1"));
        assert_ne!(group("192.0.2.1"), group("192.0.2.2"));
        assert_eq!(group("2001:db8:1:2:3:4:5:6").to_string(), "2001:db8:1:2::/64");
    }

    #[test]
    fn an_ipv4_address_in_its_ipv6_form_is_the_ipv4_address() {
        for text in ["::ffff:192.0.2.1", "64:ff9b::192.0.2.1"] {
            assert_eq!((group(text), group(text).to_string().as_str()), (group("192.0.2.1"), "192.0.2.1"));
        }
        assert_ne!(group("64:ff9b::192.0.2.1"), group("64:ff9b::192.0.2.2"));
    }
}
