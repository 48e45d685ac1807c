//! Entry points of the fuzz targets.

use model::CanonicalUrl;

use crate::non_http::{ftp, gopher};

/// Converts an ftp listing to a page with links; MLSD, or LIST.
pub fn ftp_listing_page(url: &CanonicalUrl, list: &[u8], is_mlsd: bool) -> Vec<u8> {
    ftp::listing::listing_page(url, list, is_mlsd)
}

/// Converts a gopher menu to a page with links.
pub fn gopher_menu_page(url: &CanonicalUrl, menu: &[u8]) -> Vec<u8> {
    gopher::menu_page(url, menu)
}
