//! Is a host among those of a list? In the same time for a list of three suffixes and for one of all seeds.

use std::collections::HashSet;

use crate::Error;

/// Hosts and suffixes of hosts.
///
/// `.example.org` stands for `example.org` and everything below it (and not for `badexample.org`), `www.example.org` for
/// that host alone. Names are in any case, and in their `xn--` form where they go beyond ASCII.
#[derive(Debug, Clone, Default)]
pub struct HostList {
    hosts: Names,
    /// Without the dot they begin with.
    suffixes: Names,
}

impl HostList {
    /// Reads the entries of a list.
    pub fn new(entries: impl IntoIterator<Item = impl AsRef<str>>) -> Result<HostList, Error> {
        let mut list = HostList::default();
        for entry in entries {
            let (entry, of) = (entry.as_ref(), &mut list);
            let (name, names) = match entry.strip_prefix('.') {
                Some(suffix) => (suffix, &mut of.suffixes),
                None => (entry, &mut of.hosts),
            };
            if !names.insert(name) {
                return Err(Error::BadHost { entry: entry.to_owned() });
            }
        }
        Ok(list)
    }

    /// Whether nothing is listed.
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty() && self.suffixes.is_empty()
    }

    /// Whether a host, in its canonical form, is listed by itself or by a suffix.
    pub fn contains(&self, host: &str) -> bool {
        let suffixes = || {
            let after_dots = host.bytes().enumerate().filter(|(_, byte)| *byte == b'.').map(|(at, _)| at + 1);
            std::iter::once(0).chain(after_dots).map(|start| &host[start..])
        };
        self.hosts.contains(host)
            || (!self.suffixes.is_empty() && suffixes().any(|suffix| self.suffixes.contains(suffix)))
    }
}

/// A set of names that knows at a glance when it has none of a length.
#[derive(Debug, Clone, Default)]
struct Names {
    names: HashSet<Box<str>>,
    /// A bit for each length; those from 63 on share the last.
    lengths: u64,
}

impl Names {
    /// Tells whether the name is one that a host can have.
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
    fn a_suffix_begins_at_a_dot_and_a_host_is_itself() {
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
    fn what_no_host_can_match_is_an_error() {
        for entry in ["", ".", "..org", "bücher.example", "http://example.org/", "*.example.org"] {
            assert_eq!(HostList::new([entry]).unwrap_err(), Error::BadHost { entry: entry.to_owned() });
        }
    }
}
