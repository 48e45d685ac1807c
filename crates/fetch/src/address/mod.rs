//! Addresses of hosts: the DNS resolver, and the filter of networks that may be contacted.

pub(crate) mod dns_settings;
pub(crate) mod name_server_health;
pub(crate) mod network_filter;
pub(crate) mod resolver;
