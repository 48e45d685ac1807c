//! Entry points of the fuzz targets.

use model::{CanonicalUrl, UrlRules};

use crate::pages::cached_page;
use crate::sanitize::sanitizer::preformatted;

/// Sanitizes a page as it is displayed as cached page.
pub fn sanitize_page(url: &CanonicalUrl, html: &str) -> String {
    cached_page::sanitize_page(&UrlRules::default(), url, html, &|_| Vec::new()).html
}

/// Converts plain text as it is displayed as cached page.
pub fn sanitize_text(text: &str) -> String {
    preformatted(text, &|_| Vec::new()).html
}
