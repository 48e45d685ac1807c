//! Table of hosts and host suffixes, with lookups whose cost does not depend on its length.

use std::collections::HashMap;

use model::CanonicalUrl;

/// Hosts and host suffixes, each optionally restricted to a port and to a path prefix.
///
/// The suffix `example.org` matches `example.org` and its subdomains, but not `badexample.org`.
#[derive(Debug, Clone, Default)]
pub(crate) struct HostTable {
    hosts: NameTable,
    suffixes: NameTable,
}

/// Part of a host that an entry applies to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HostPart {
    pub(crate) port: PortRule,
    /// Prefix of path and query; empty for all.
    pub(crate) path_prefix: Box<str>,
    /// Index of the rule.
    pub(crate) rule: u32,
}

/// Ports that an entry applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PortRule {
    /// All ports.
    Any,
    /// The default port of the scheme.
    Default,
    /// One port.
    Number(u16),
}

impl HostPart {
    fn contains(&self, url: &CanonicalUrl) -> bool {
        let port_matches = match self.port {
            PortRule::Any => true,
            PortRule::Default => url.port() == url.scheme().default_port(),
            PortRule::Number(port) => port == url.port(),
        };
        port_matches && url.path_and_query().starts_with(&*self.path_prefix)
    }
}

impl HostTable {
    /// Adds a host, or a host suffix without its leading dot. Returns false if no host can have this name.
    pub(crate) fn insert(&mut self, name: &str, is_suffix: bool, part: HostPart) -> bool {
        let names = if is_suffix { &mut self.suffixes } else { &mut self.hosts };
        names.insert(name, part)
    }

    /// Whether the table is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.hosts.is_empty() && self.suffixes.is_empty()
    }

    /// Whether an entry matches a URL.
    pub(crate) fn matches(&self, url: &CanonicalUrl) -> bool {
        self.parts(url.host()).any(|part| part.contains(url))
    }

    /// Lowest index of the rules that match a URL.
    pub(crate) fn first_rule(&self, url: &CanonicalUrl) -> Option<u32> {
        self.parts(url.host()).filter(|part| part.contains(url)).map(|part| part.rule).min()
    }

    /// Entries for a host: those of the host itself, then those of its suffixes.
    fn parts<'t>(&'t self, host: &'t str) -> impl Iterator<Item = &'t HostPart> {
        let after_dots = host.bytes().enumerate().filter(|(_, byte)| *byte == b'.').map(|(at, _)| at + 1);
        let suffixes = std::iter::once(0).chain(after_dots).filter(|_| !self.suffixes.is_empty());
        let of_suffixes = suffixes.flat_map(move |start| self.suffixes.get(&host[start..]));
        self.hosts.get(host).iter().chain(of_suffixes)
    }
}

/// Map of names with a quick rejection by length.
#[derive(Debug, Clone, Default)]
struct NameTable {
    names: HashMap<Box<str>, Vec<HostPart>>,
    /// One bit per length of a name; lengths from 63 on share the last bit.
    lengths: u64,
}

impl NameTable {
    fn insert(&mut self, name: &str, part: HostPart) -> bool {
        let is_name = !name.is_empty()
            && !name.starts_with('.')
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._[]:".contains(&byte));
        if is_name {
            self.lengths |= length_bit(name);
            self.names.entry(name.to_ascii_lowercase().into()).or_default().push(part);
        }
        is_name
    }

    fn is_empty(&self) -> bool {
        self.lengths == 0
    }

    fn get(&self, name: &str) -> &[HostPart] {
        if self.lengths & length_bit(name) == 0 {
            return &[];
        }
        self.names.get(name).map_or(&[], Vec::as_slice)
    }
}

fn length_bit(name: &str) -> u64 {
    1 << name.len().min(63)
}
