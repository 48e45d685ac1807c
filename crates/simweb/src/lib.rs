//! A deterministic synthetic Web with faults and known truth, to test a crawler against.
//!
//! [`World`] is the Web as pure functions of a seed: sites, pages, links, answers and the truth about them, never stored
//! and in any order. [`SimWeb::start`] serves a world on loopback (HTTP/1.1, HTTP/2, TLS, DNS) and knows its
//! addresses, its clock and its request log.
//!
//! From the question to the answer: `route` finds the site, `path` the page, `answer` decides what to say, `html` and its
//! neighbours write it, `server` and `body` send it, `log` remembers. `truth` tells the same things without writing pages,
//! by the same functions. Useful for tests, demonstrations and simulations; not for anything a product needs.
//!
//! ```
//! use simweb::{Ask, PageRef, Ports, Settings, World};
//!
//! let world = World::new(Settings { sites: 10, seed: 7, ..Settings::default() }, Ports { http: 80, https: 443 })?;
//! let portal = world.site(0);
//! assert_eq!(world.url(PageRef { site: 0, page: 0 }), "http://portal.test/");
//! assert_eq!(world.answer(&portal, &Ask::new("/", 0)).status, 200);
//! assert!(world.page_truth(&portal, 0).crawlable);
//! # Ok::<(), simweb::SettingsError>(())
//! ```

mod answer;
mod body;
mod change;
mod charset;
mod clock;
mod date;
mod dns;
mod draw;
mod error;
mod files;
mod gzip;
mod href;
mod html;
mod language;
mod links;
mod log;
mod page;
mod path;
mod ranks;
mod rate;
mod robots;
mod route;
mod server;
mod settings;
mod sheet;
mod simweb;
mod site;
mod sitemap;
mod stream;
mod text;
mod tls;
mod traps;
mod truth;
mod world;

pub use answer::{Answer, Ask, Manner};
pub use charset::{Charset, Declared};
pub use clock::Clock;
pub use date::{EPOCH, Moment};
pub use error::{SettingsError, StartError};
pub use language::Language;
pub use links::{Link, Place, Target};
pub use log::{LogEntry, RequestLog};
pub use page::{Kind, Page, PageRef, Redirect, Style};
pub use ranks::PageRanks;
pub use robots::RobotsKind;
pub use settings::{SettingDoc, Settings};
pub use simweb::{Endpoints, SimWeb};
pub use site::{Certificate, Copied, Health, SessionStyle, Site, TrapKind};
pub use sitemap::SitemapKind;
pub use truth::{LinkTruth, PageTruth, SiteTruth};
pub use world::{Naming, Ports, World};
