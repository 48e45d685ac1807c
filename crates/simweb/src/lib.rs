//! Deterministic synthetic Web with faults and ground truth, for tests of a crawler.
//!
//! [`World`] is the Web as pure functions of a seed: sites, pages, links, responses and their ground truth,
//! computable in any order and never stored. [`SimWeb::start`] serves a world on loopback (HTTP/1.1, HTTP/2, TLS,
//! DNS) and provides its addresses, its clock and its request log.
//!
//! Processing of a request: `server::route` finds the site, `world::path` the page, `server::response` determines the
//! response, `content` writes its body, `server::connection` and `server::body` send it, `server::log` records it.
//! `truth` computes the ground truth with the same functions, without writing pages.
//!
//! Useful for tests, demonstrations and simulations; not for product code.
//!
//! ```
//! use simweb::{PageRef, Ports, Settings, SimRequest, World};
//!
//! let world = World::new(Settings { sites: 10, seed: 7, ..Settings::default() }, Ports { http: 80, https: 443 })?;
//! let portal = world.site(0);
//! assert_eq!(world.url(PageRef { site: 0, page: 0 }), "http://portal.test/");
//! assert_eq!(world.respond(&portal, &SimRequest::new("/", 0)).status, 200);
//! assert!(world.page_ground_truth(&portal, 0).crawlable);
//! # Ok::<(), simweb::SettingsError>(())
//! ```

mod content;
mod error;
mod server;
mod settings;
mod truth;
mod world;

pub use error::{SettingsError, StartError};
pub use server::log::{LogEntry, RequestLog};
pub use server::response::{Delivery, SimRequest, SimResponse};
pub use server::simweb::{Endpoints, SimWeb};
pub use settings::{SettingDoc, Settings};
pub use truth::ground_truth::{LinkGroundTruth, PageGroundTruth, SiteGroundTruth};
pub use truth::pagerank::PageRanks;
pub use world::charset::{Charset, Declared};
pub use world::clock::Clock;
pub use world::date::{EPOCH, Moment};
pub use world::kinds::{
    Certificate, Health, PageRef, PathClass, ReplicaKind, RobotsKind, SessionStyle, SitemapKind, TrapKind,
};
pub use world::language::Language;
pub use world::links::{Link, LinkPosition, Target};
pub use world::page::{Page, PageKind, Redirect};
pub use world::site::Site;
pub use world::synthetic_web::{Naming, Ports, World};
