//! What do bytes from the Web mean?
//!
//! A page goes through [`decode`] to become text, then through [`html::parse_html`] to become a [`Document`]: links,
//! words, title, wishes. Around it stand the parsers for what servers say about their pages: [`RobotsRules`], sitemaps
//! and feeds.
//!
//! Everything here takes hostile input. No parser fails, panics or hangs; none grows beyond its limits; none does I/O
//! or reads a clock.

pub mod html;

mod charset;
mod date;
mod directives;
mod document;
mod main_text;
mod robots;

pub use charset::{CharsetSource, Decoded, decode};
pub use date::parse_date;
pub use directives::RobotsDirectives;
pub use document::{Context, Document, Heading, Link, LinkKind, Resolved};
pub use robots::{Decision, ROBOTS_LIMIT_BYTES, ROBOTS_LIMIT_RULES, ROBOTS_LIMIT_SITEMAPS, RobotsRules, Rule};
