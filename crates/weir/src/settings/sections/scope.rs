//! Which URLs belong to the crawl, and which URLs are the same page?

use frontier::RejectPatterns;
use model::{DIGEST_PARAMETERS, SESSION_PARAMETERS, Scheme, TRACKING_PARAMETERS};

use super::texts;
use crate::settings::place::Suffix;
use crate::settings::section::section;
use crate::settings::value::{Size, Value};

section! {
    /// Which URLs belong to the crawl, and which URLs are the same page.
    "scope", ScopeSection {
        /// The crawl stays on hosts that end so, such as ".example.org"; an empty list lets it go anywhere.
        accept: Vec<Suffix> = Vec::new(), wire "seeder/accept/domain-suffixes";
        /// Pages with one of these texts in path or query are left out, in any case of letters. As in robots.txt, a text that
        /// begins with a slash holds from the beginning of the path, a star stands for any characters, and a dollar at the
        /// end for the end: "login", "/private/", "*/calendar/*/day/", ".cgi$".
        reject: Vec<RejectPattern> = Vec::new();
        /// The protocols that are spoken.
        schemes: Vec<Scheme> = vec![Scheme::Http, Scheme::Https];
        /// Whether sites are entered by their front page only: links from other sites to pages within are not followed.
        front_page_only: bool = false;
        /// Whether the links of a page are followed, too, whose content is that of another page to the byte. Endless copies of
        /// one page then lead to endless pages, up to the limits of a site.
        links_of_duplicates: bool = false;
        /// Parameters that carry a session, dropped from every URL; a star stands for the rest of a name.
        session_parameters: Vec<String> = texts(SESSION_PARAMETERS), wire "seeder/sessionids";
        /// Parameters that carry a session where their value is a long number in hex; elsewhere they are kept.
        digest_parameters: Vec<String> = texts(DIGEST_PARAMETERS);
        /// Parameters that tell where a visitor came from, dropped from every URL.
        tracking_parameters: Vec<String> = texts(TRACKING_PARAMETERS);
        /// Whether the parameters of a query are ordered by name, so that their order makes no second page.
        sort_query: bool = false;
        /// Longer URLs are left out.
        longest_url: Size = Size(2_048), within Size(64)..=Size(16_000);
    }
}

/// A text of URLs that are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RejectPattern(pub(crate) String);

impl Value for RejectPattern {
    const KIND: &'static str = "pattern";

    fn read(written: &toml::Value) -> Result<RejectPattern, String> {
        let text = String::read(written)?;
        match RejectPatterns::new([&text]) {
            Ok(_) => Ok(RejectPattern(text)),
            Err(error) => Err(format!("{error}; write a text that only some URLs have, such as \"logout\"")),
        }
    }

    fn write(&self) -> String {
        self.0.write()
    }
}
