//! Verification of what a worker or a copied harvest reports, against the batch that was leased.
//!
//! A worker is another program on another machine, possibly broken or hostile. What it sends becomes harvest items in one
//! place, here and in the [reader of segments](crate::transport::segment): a page must be one that was leased and is still
//! open, with a record of its URL; a site must be in the batch; addresses must be permitted; times must be near the present;
//! and every length has a limit. An invalid item is dropped and reported, and its page can be selected again. Behind this
//! point items need no checks.
//!
//! Not verifiable is the content: a worker could as well have invented a page. What its parser says about a page (title,
//! links, text) is as trustworthy as the page, and only limited in size and to the scope of the crawl.

pub mod fetched;
pub mod leased_batch;
pub mod rejections;
pub mod time_bounds;
