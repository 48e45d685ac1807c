//! Which site is meant? The one the Host names, if it lives on the address the connection came in on.

use std::net::Ipv4Addr;

use crate::site::Health;
use crate::world::{LOCALHOST, Naming, World};

/// Where a request belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// To a site, called in this way.
    Site(u32, Naming),
    /// To no site of this Web, or to one that lives elsewhere.
    Misdirected,
}

/// Finds the site for a host (lower case, without port) on a local address.
///
/// A bare address stands for the first site on it, or for the portal; `NAME.localhost` for the site NAME wherever it
/// lives. Both are for people who browse without a name server.
pub(crate) fn route(world: &World, host: &str, local: Ipv4Addr) -> Route {
    if host == "localhost" || host.parse::<Ipv4Addr>().is_ok() {
        let here = if world.one_address.is_some() { None } else { world.site_by_address(local) };
        return Route::Site(here.unwrap_or(0), Naming::Localhost);
    }
    let (name, naming) = match host.strip_suffix(LOCALHOST) {
        Some(name) => (name, Naming::Localhost),
        None => (host, Naming::Names),
    };
    let Some(index) = world.site_by_name(name) else { return Route::Misdirected };
    let named = !matches!(world.site(index).health, Health::Nameless | Health::ServFail);
    let here = naming == Naming::Localhost || world.address(index) == local;
    if named && here { Route::Site(index, naming) } else { Route::Misdirected }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;
    use crate::world::Ports;

    #[test]
    fn hosts_lead_to_sites_by_name_by_localhost_and_by_address() {
        let settings = Settings { sites: 20, ..Settings::plain() };
        let mut world = World::new(settings, Ports { http: 80, https: 443 }).unwrap();
        let (name, home, here) = (world.name(3), world.address(3), Ipv4Addr::LOCALHOST);
        assert_eq!(route(&world, &name, home), Route::Site(3, Naming::Names));
        assert_eq!(route(&world, &name, here), Route::Misdirected);
        assert_eq!(route(&world, &format!("{name}.localhost"), here), Route::Site(3, Naming::Localhost));
        assert_eq!(route(&world, &home.to_string(), home), Route::Site(3, Naming::Localhost));
        assert_eq!(route(&world, "127.0.0.1", here), Route::Site(0, Naming::Localhost));
        assert_eq!(route(&world, "localhost", here), Route::Site(0, Naming::Localhost));
        assert_eq!(route(&world, "example.com", here), Route::Misdirected);
        world.one_address = Some(here);
        assert_eq!(route(&world, &name, here), Route::Site(3, Naming::Names));
        assert_eq!(route(&world, &name, home), Route::Misdirected);
    }

    #[test]
    fn a_site_without_name_is_not_served_by_name() {
        let settings = Settings { sites: 5, nameless: 1.0, ..Settings::plain() };
        let world = World::new(settings, Ports { http: 80, https: 443 }).unwrap();
        assert_eq!(route(&world, &world.name(3), world.address(3)), Route::Misdirected);
        assert_eq!(route(&world, "portal.test", world.address(0)), Route::Site(0, Naming::Names));
    }
}
