//! Which URLs belong to the crawl, and which URLs are the same page?

use model::{DIGEST_PARAMETERS, SESSION_PARAMETERS, Scheme, TRACKING_PARAMETERS};

use super::texts;
use crate::settings::place::Suffix;
use crate::settings::section::section;
use crate::settings::value::Size;

section! {
    /// Which URLs belong to the crawl, and which URLs are the same page.
    "scope", ScopeSection {
        /// The crawl stays on hosts that end so, such as ".example.org"; an empty list lets it go anywhere.
        accept: Vec<Suffix> = Vec::new(), wire "seeder/accept/domain-suffixes", applies at_once;
        /// URLs with one of these texts in path or query are left out. A star stands for any characters, and a dollar at
        /// the end for the end of the URL: "/login", "*/calendar/*/day/", ".cgi$".
        reject: Vec<String> = texts(&["/login", "/logout", "/signin", "/signup", "/register", "/wp-admin/", "/cart/add"]),
            applies at_once;
        /// The protocols that are spoken.
        schemes: Vec<Scheme> = vec![Scheme::Http, Scheme::Https];
        /// Whether sites are entered by their front page only: a link from another site to a page within leads to the
        /// front page instead.
        front_page_only: bool = false;
        /// Whether URLs that look like endlessly many of a program are left out: the same folder again and again, paths and
        /// queries without end, calendars of other centuries.
        avoid_traps: bool = true, applies at_once;
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
