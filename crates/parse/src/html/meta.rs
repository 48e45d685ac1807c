//! What does a page say about itself in `<meta>`? Description, robots, language, dates, and where it refreshes to.

use std::borrow::Cow;

use super::Options;
use super::tag::Tag;
use crate::date::parse_date;
use crate::directives::RobotsDirectives;
use crate::document::Document;

/// Takes one `<meta>` into the document; returns the target when it is a refresh to another page.
pub(super) fn read(tag: &Tag<'_, '_>, options: &Options, document: &mut Document) -> Option<String> {
    let content = tag.attribute("content")?;
    let lower = |key: &str| tag.attribute(key).map(|name| name.trim().to_ascii_lowercase());
    // Only what stands for a header of HTTP can send the reader elsewhere.
    if let Some(header) = lower("http-equiv") {
        match header.as_str() {
            "refresh" => return refresh_target(&content).map(Cow::into_owned),
            "content-language" => document.declare_language(&content),
            "last-modified" => first(&mut document.modified, &content),
            _ => {}
        }
        return None;
    }
    let name = ["name", "property", "itemprop"].iter().find_map(|key| lower(key))?;
    match name.as_str() {
        "description" => describe(document, &content, options),
        "og:description" | "twitter:description" if document.description.is_empty() => {
            describe(document, &content, options);
        }
        "language" | "dc.language" | "og:locale" => document.declare_language(&content),
        "robots" => obey(document, &content),
        _ if name == options.agent => obey(document, &content),
        "article:published_time"
        | "datepublished"
        | "dc.date"
        | "dc.date.issued"
        | "dcterms.created"
        | "date"
        | "pubdate" => first(&mut document.published, &content),
        "article:modified_time"
        | "og:updated_time"
        | "datemodified"
        | "last-modified"
        | "dcterms.modified"
        | "revised" => first(&mut document.modified, &content),
        _ => {}
    }
    None
}

fn obey(document: &mut Document, content: &str) {
    document.robots = document.robots.merge(RobotsDirectives::from_meta(content));
}

fn describe(document: &mut Document, content: &str, options: &Options) {
    document.description.clear();
    document.truncated |= super::push_words(&mut document.description, content, options.limits.title_bytes);
}

fn first(date: &mut Option<i64>, content: &str) {
    *date = date.or_else(|| parse_date(content));
}

/// `5; url=/next.html`: the number, then perhaps a URL, with or without `url=`, with or without quotes.
fn refresh_target(content: &str) -> Option<Cow<'_, str>> {
    let after_seconds = content.trim_start().trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let rest = after_seconds.trim_start();
    // Something has to separate the URL from the seconds.
    if rest.len() == content.trim_start().len() && !rest.is_empty() && !rest.starts_with([';', ',']) {
        return None;
    }
    let rest = rest.trim_start_matches([';', ',']).trim_start();
    let url = strip_prefix_ignoring_case(rest, "url")
        .map(str::trim_start)
        .and_then(|rest| rest.strip_prefix('='))
        .map_or(rest, str::trim_start);
    let url = match url.chars().next()? {
        quote @ ('"' | '\'') => url[1..].split(quote).next()?,
        _ => url,
    };
    (!url.trim().is_empty()).then(|| Cow::Borrowed(url.trim()))
}

fn strip_prefix_ignoring_case<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    text.get(..prefix.len()).filter(|start| start.eq_ignore_ascii_case(prefix)).map(|_| &text[prefix.len()..])
}

#[cfg(test)]
mod tests {
    use super::refresh_target;

    #[test]
    fn a_refresh_leads_where_it_says() {
        for (content, target) in [
            ("5; url=/next.html", Some("/next.html")),
            ("0;URL='http://a.test/x'", Some("http://a.test/x")),
            ("0,\"a b\" trash", Some("a b")),
            (" 3.5 ; UrL = next", Some("next")),
            ("0; next.html", Some("next.html")),
            ("; url=a", Some("a")),
            ("5", None),
            ("", None),
            ("url=a", None),
            ("5; url=", None),
            ("5; url=''", None),
        ] {
            assert_eq!(refresh_target(content).as_deref(), target, "{content:?}");
        }
    }
}
