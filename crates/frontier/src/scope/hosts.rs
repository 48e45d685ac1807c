//! List of hosts and host suffixes, with lookups whose cost does not depend on its length.

use std::collections::HashSet;

use crate::error::Error;

/// List of hosts and host suffixes.
///
/// `.example.org` matches `example.org` and its subdomains (but not `badexample.org`); `www.example.org` matches that host
/// only. Names are case-insensitive, and in their `xn--` form if not ASCII.
#[derive(Debug, Clone, Default)]
pub struct HostList {
    hosts: NameSet,
    /// Without their leading dot.
    suffixes: NameSet,
}

impl HostList {
    /// Parses the entries of a list.
    pub fn new(entries: impl IntoIterator<Item = impl AsRef<str>>) -> Result<HostList, Error> {
        let mut list = HostList::default();
        for entry in entries {
            let entry = entry.as_ref();
            let (name, names) = match entry.strip_prefix('.') {
                Some(suffix) => (suffix, &mut list.suffixes),
                None => (entry, &mut list.hosts),
            };
            if !names.insert(name) {
                return Err(Error::InvalidHost { entry: entry.to_owned() });
            }
        }
        Ok(list)
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty() && self.suffixes.is_empty()
    }

    /// Whether a host, in canonical form, is in the list itself or by a suffix.
    pub fn contains(&self, host: &str) -> bool {
        let suffixes = || {
            let after_dots = host.bytes().enumerate().filter(|(_, byte)| *byte == b'.').map(|(at, _)| at + 1);
            std::iter::once(0).chain(after_dots).map(|start| &host[start..])
        };
        self.hosts.contains(host)
            || (!self.suffixes.is_empty() && suffixes().any(|suffix| self.suffixes.contains(suffix)))
    }
}

/// Set of names with a quick rejection by length.
#[derive(Debug, Clone, Default)]
struct NameSet {
    names: HashSet<Box<str>>,
    /// One bit per length of a name; lengths from 63 on share the last bit.
    lengths: u64,
}

impl NameSet {
    /// Adds a name; returns false if no host can have it.
    fn insert(&mut self, name: &str) -> bool {
        let is_name = !name.is_empty()
            && !name.starts_with('.')
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._[]:".contains(&byte));
        if is_name {
            self.lengths |= length_bit(name);
            self.names.insert(name.to_ascii_lowercase().into());
        }
        is_name
    }

    fn is_empty(&self) -> bool {
        self.lengths == 0
    }

    fn contains(&self, name: &str) -> bool {
        self.lengths & length_bit(name) != 0 && self.names.contains(name)
    }
}

fn length_bit(name: &str) -> u64 {
    1 << name.len().min(63)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_match_whole_labels_and_hosts_match_exactly() {
        let list = HostList::new([".Example.org", "www.other.net", ".cl", "[::1]"]).unwrap();
        for host in ["example.org", "a.b.example.org", "www.other.net", "uchile.cl", "cl", "[::1]"] {
            assert!(list.contains(host), "{host}");
        }
        for host in
            ["badexample.org", "example.org.evil.com", "other.net", "a.www.other.net", "clcl", "org", ""]
        {
            assert!(!list.contains(host), "{host}");
        }
        assert!(!list.is_empty() && HostList::default().is_empty());
    }

    #[test]
    fn long_names_are_found_too() {
        let name = format!("{}.{}.example.org", "a".repeat(63), "b".repeat(63));
        let list = HostList::new([format!(".{name}")]).unwrap();
        assert!(list.contains(&name) && list.contains(&format!("c.{name}")));
        assert!(!list.contains(&format!("c{name}")) && !list.contains(&name[1..]));
    }

    #[test]
    fn entries_that_no_host_can_match_are_errors() {
        for entry in ["", ".", "..org", "bücher.example", "http://example.org/", "*.example.org"] {
            assert_eq!(HostList::new([entry]).unwrap_err(), Error::InvalidHost { entry: entry.to_owned() });
        }
    }
}
