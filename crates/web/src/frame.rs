//! What do all pages have around them? A title, the name of the collection, and the way to the other parts.

use axum::response::Html;

use crate::desk::Desk;
use crate::failure::Failure;

/// The parts that every page leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Search,
    Dashboard,
    Sites,
    Report,
    Snapshots,
    /// None of them.
    Other,
}

const PARTS: [(Part, &str, &str); 5] = [
    (Part::Search, "/", "Search"),
    (Part::Dashboard, "/dashboard", "Dashboard"),
    (Part::Sites, "/sites", "Sites"),
    (Part::Report, "/report", "Report"),
    (Part::Snapshots, "/snapshots", "Snapshots"),
];

/// What is around a page.
pub(crate) struct Frame {
    pub(crate) title: String,
    pub(crate) collection: String,
    part: Part,
}

impl Frame {
    pub(crate) fn new(desk: &Desk, part: Part, title: &str) -> Frame {
        let collection = crate::shown::shown(&desk.name, 40);
        Frame {
            title: if title.is_empty() {
                format!("{collection} \u{b7} weir")
            } else {
                format!("{title} \u{b7} {collection}")
            },
            collection,
            part,
        }
    }

    /// For somebody who may not know anything yet.
    pub(crate) fn nameless(desk: &Desk, part: Part, title: &str) -> Frame {
        let title_only = format!("{title} \u{b7} weir");
        Frame { title: title_only, collection: String::new(), ..Frame::new(desk, part, title) }
    }

    /// All parts: whether this is the one, where it is, what it is called.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (bool, &'static str, &'static str)> {
        PARTS.into_iter().map(|(part, path, name)| (part == self.part, path, name))
    }
}

/// The part that lies at a path.
pub(crate) fn part_at(path: &str) -> Option<&'static str> {
    PARTS.into_iter().map(|(_, own, _)| own).find(|own| *own == path)
}

/// A template as a page.
pub(crate) fn page(template: &impl askama::Template) -> Result<Html<String>, Failure> {
    Ok(Html(template.render()?))
}
