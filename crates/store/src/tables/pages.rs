//! What is known about each page, in one row?

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema, SchemaRef};

use super::column::{
    Flag, Id, Int16, Int32, Kind, MaybeId, MaybeInt16, MaybeInt32, MaybeInt64, MaybeReal, MaybeText,
    MaybeTime, Text,
};
use super::rows::{Rows, described, table};

table! {
    /// One page, as far as it is known at a commit.
    "pages", PageRow, PageRows {
        /// The page.
        page_id: Id,
        /// Its site.
        site_id: Id,
        /// The canonical URL.
        url: Text,
        /// Host name or address.
        url_host_name: Text,
        /// The last label of the host name.
        url_host_tld: MaybeText,
        /// The registered domain: `example.co.uk`.
        url_host_registered_domain: MaybeText,
        /// `http`, `https`, `ftp` or `gopher`.
        url_protocol: Text,
        /// Links to the page from where its site was entered.
        depth: Int16,
        /// How far the crawl has come with it: `new`, `queued`, `fetched`, `failed` or `rejected`.
        stage: Text,
        /// The status of HTTP at the last visit, 0 when there was no answer; nothing without a visit.
        status: MaybeInt16,
        /// How the last visit went, in one word, as in `fetches`.
        outcome: MaybeText,
        /// Why it failed, was rejected or has to wait: `name-not-found`, `robots-forbid`, `refused`.
        reason: MaybeText,
        /// The type of its content: as it was read, or, where it was not, as the server declared.
        mime: MaybeText,
        /// The encoding of its text.
        charset: MaybeText,
        /// The language detected.
        language: MaybeText,
        /// How sure that is, up to 1.
        language_confidence: MaybeReal,
        /// Bytes of its content as transferred, at the last visit that brought some.
        content_length: MaybeInt64,
        /// Bytes of its text.
        text_length: MaybeInt64,
        /// Characters of its title; 0 without one.
        title_length: MaybeInt32,
        /// Words of its text.
        words: MaybeInt32,
        /// Whether its URL has a query or names a program.
        dynamic: Flag,
        /// The program that its URL names, by the extension: `php`, `aspx`, `cgi`.
        technology: MaybeText,
        /// Whether it was named by the user, not found by a link.
        seed: Flag,
        /// How often it was visited.
        visits: Int32,
        /// How many visits could be compared with the one before.
        compared: Int32,
        /// At how many of those its content had changed.
        changes: Int32,
        /// How often it changes, as estimated; nothing as long as nothing is known.
        changes_per_day: MaybeReal,
        /// When it was first visited.
        first_visit: MaybeTime,
        /// When it was last visited.
        last_visit: MaybeTime,
        /// When the page says it was published.
        published: MaybeTime,
        /// When the page or its server says it was modified.
        modified: MaybeTime,
        /// Days from the date that it was modified or, without one, published to the visit that brought it; nothing for dates before 1990 or after the visit.
        age_days: MaybeReal,
        /// Which of the dates that is: `modified` or `published`.
        age_basis: MaybeText,
        /// Milliseconds from the request to the first byte, at the last visit that was answered.
        latency_ms: MaybeInt32,
        /// Milliseconds from the request to the last byte, at that visit.
        duration_ms: MaybeInt32,
        /// Links to pages of the same host.
        links_internal: MaybeInt32,
        /// Links to other hosts.
        links_external: MaybeInt32,
        /// Images, scripts and the like.
        links_embedded: MaybeInt32,
        /// Pages that link to it.
        in_degree: MaybeInt64,
        /// Pages that it links to.
        out_degree: MaybeInt64,
        /// PageRank.
        pagerank: MaybeReal,
        /// PageRank with links of unequal weight.
        link_rank: MaybeReal,
        /// How good a hub it is (HITS).
        hub: MaybeReal,
        /// How good an authority it is (HITS).
        authority: MaybeReal,
        /// Its strongly connected component; 0 is the largest.
        component: MaybeId,
        /// Its part of the bow tie: `main-main`, `in`, `islands`.
        part: MaybeText,
        /// The page that had the same body first.
        duplicate_of: MaybeId,
        /// The first page of those with the same text, itself included.
        duplicate_group: MaybeId,
        /// The first page of those with nearly the same text, itself included.
        near_duplicate_group: MaybeId,
    }
}
