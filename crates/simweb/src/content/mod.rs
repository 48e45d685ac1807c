//! Content of responses: HTML pages, text, files, sitemaps and crawler traps.

pub(crate) mod files;
pub(crate) mod gzip;
pub(crate) mod href;
pub(crate) mod html;
pub(crate) mod sitemap;
pub(crate) mod text;
pub(crate) mod traps;
