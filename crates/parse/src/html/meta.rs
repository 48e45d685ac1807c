//! Metadata in `<meta>` elements: description, robots directives, language, dates and refresh.

use std::borrow::Cow;

use super::Options;
use super::tag::Tag;
use crate::date::parse_date;
use crate::document::Document;
use crate::robots_directives::RobotsDirectives;

/// Reads a `<meta>` element into the document; returns the target of a refresh to another page.
pub(super) fn read(tag: &Tag<'_, '_>, options: &Options, document: &mut Document) -> Option<String> {
    let content = tag.attribute("content")?;
    let lower = |key: &str| tag.attribute(key).map(|name| name.trim().to_ascii_lowercase());
    // Only http-equiv can refresh.
    if let Some(header) = lower("http-equiv") {
        match header.as_str() {
            "refresh" => return refresh_target(&content).map(Cow::into_owned),
            "content-language" => document.declare_language(&content),
            "last-modified" => set_if_missing(&mut document.modified, &content),
            _ => {}
        }
        return None;
    }
    let name = ["name", "property", "itemprop"].iter().find_map(|key| lower(key))?;
    match name.as_str() {
        "description" => set_description(document, &content, options),
        "og:description" | "twitter:description" if document.description.is_empty() => {
            set_description(document, &content, options);
        }
        "language" | "dc.language" | "og:locale" => document.declare_language(&content),
        "robots" => add_directives(document, &content),
        _ if name == options.agent => add_directives(document, &content),
        "article:published_time"
        | "datepublished"
        | "dc.date"
        | "dc.date.issued"
        | "dcterms.created"
        | "date"
        | "pubdate" => set_if_missing(&mut document.published, &content),
        "article:modified_time"
        | "og:updated_time"
        | "datemodified"
        | "last-modified"
        | "dcterms.modified"
        | "revised" => set_if_missing(&mut document.modified, &content),
        _ => {}
    }
    None
}

fn add_directives(document: &mut Document, content: &str) {
    document.robots_directives = document.robots_directives.merge(RobotsDirectives::from_meta(content));
}

fn set_description(document: &mut Document, content: &str, options: &Options) {
    document.description.clear();
    document.truncated |=
        super::push_collapsed(&mut document.description, content, options.limits.title_bytes);
}

fn set_if_missing(date: &mut Option<i64>, content: &str) {
    *date = date.or_else(|| parse_date(content));
}

/// Parses `5; url=/next.html`: seconds and an optional URL, with or without `url=` and quotes.
fn refresh_target(content: &str) -> Option<Cow<'_, str>> {
    let after_seconds = content.trim_start().trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let rest = after_seconds.trim_start();
    // A separator between the seconds and the URL is required.
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
    fn the_target_of_a_refresh_is_parsed() {
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
