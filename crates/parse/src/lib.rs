//! Meaning.

pub mod html;

mod robots;

pub use robots::{Decision, ROBOTS_LIMIT_BYTES, ROBOTS_LIMIT_RULES, ROBOTS_LIMIT_SITEMAPS, RobotsRules, Rule};
