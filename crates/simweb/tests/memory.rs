//! Memory use of a large Web, in its own process because it is measured for the whole process.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "test helpers may panic")]

use simweb::{PageRef, Ports, Settings, SimRequest, World};

/// Requests pages of all sites.
fn fetch(world: &World, count: u32) {
    for n in 0..count {
        let site = world.site(n.wrapping_mul(2_654_435_761) % world.settings.sites as u32);
        let url = world.url(PageRef { site: site.index, page: n.wrapping_mul(40_503) % site.linked });
        let path = &url[url.match_indices('/').nth(2).unwrap().0..];
        assert_ne!(world.respond(&site, &SimRequest::new(path, 1)).status, 404);
    }
}

fn resident_kb() -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn memory_does_not_grow_with_the_number_of_requests() {
    let settings = Settings { sites: 100_000, pages: 100_000_000, not_found: 0.0, ..Settings::default() };
    let world = World::new(settings, Ports { http: 80, https: 443 }).unwrap();
    fetch(&world, 200);
    let before = resident_kb();
    fetch(&world, 4_000);
    assert!(resident_kb() - before < 64 * 1024, "{} KB more", resident_kb() - before);
}
