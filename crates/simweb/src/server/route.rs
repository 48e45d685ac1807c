//! Routing: selects the site by the Host header and the local IP address of the connection.

use std::net::Ipv4Addr;

use crate::world::kinds::Health;
use crate::world::synthetic_web::{LOCALHOST, Naming, World};

/// Route of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// A site, with the form of its host name.
    Site(u32, Naming),
    /// No site of this Web, or one on another IP address.
    Misdirected,
}

/// Finds the site of a host (lower case, without port) on a local IP address.
///
/// An IP address as host selects the first site on it, or the portal; `NAME.localhost` selects the site NAME on any
/// IP address. Both are for browsing without a name server.
pub(crate) fn route(world: &World, host: &str, local: Ipv4Addr) -> Route {
    if host == "localhost" || host.parse::<Ipv4Addr>().is_ok() {
        let here = if world.single_ip.is_some() { None } else { world.site_by_ip(local) };
        return Route::Site(here.unwrap_or(0), Naming::Localhost);
    }
    let (name, naming) = match host.strip_suffix(LOCALHOST) {
        Some(name) => (name, Naming::Localhost),
        None => (host, Naming::Names),
    };
    let Some(index) = world.site_by_name(name) else { return Route::Misdirected };
    let named = !matches!(world.site(index).health, Health::NxDomain | Health::ServFail);
    let here = naming == Naming::Localhost || world.ip_address(index) == local;
    if named && here { Route::Site(index, naming) } else { Route::Misdirected }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;
    use crate::world::synthetic_web::Ports;

    #[test]
    fn hosts_are_routed_by_name_by_localhost_and_by_ip_address() {
        let settings = Settings { sites: 20, ..Settings::plain() };
        let mut world = World::new(settings, Ports { http: 80, https: 443 }).unwrap();
        let (name, home, here) = (world.name(3), world.ip_address(3), Ipv4Addr::LOCALHOST);
        assert_eq!(route(&world, &name, home), Route::Site(3, Naming::Names));
        assert_eq!(route(&world, &name, here), Route::Misdirected);
        assert_eq!(route(&world, &format!("{name}.localhost"), here), Route::Site(3, Naming::Localhost));
        assert_eq!(route(&world, &home.to_string(), home), Route::Site(3, Naming::Localhost));
        assert_eq!(route(&world, "127.0.0.1", here), Route::Site(0, Naming::Localhost));
        assert_eq!(route(&world, "localhost", here), Route::Site(0, Naming::Localhost));
        assert_eq!(route(&world, "example.com", here), Route::Misdirected);
        world.single_ip = Some(here);
        assert_eq!(route(&world, &name, here), Route::Site(3, Naming::Names));
        assert_eq!(route(&world, &name, home), Route::Misdirected);
    }

    #[test]
    fn a_site_without_dns_record_is_not_served_by_name() {
        let settings = Settings { sites: 5, nxdomain: 1.0, ..Settings::plain() };
        let world = World::new(settings, Ports { http: 80, https: 443 }).unwrap();
        assert_eq!(route(&world, &world.name(3), world.ip_address(3)), Route::Misdirected);
        assert_eq!(route(&world, "portal.test", world.ip_address(0)), Route::Site(0, Naming::Names));
    }
}
