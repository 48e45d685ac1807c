//! Layout of all pages: title, name of the collection, navigation.

use axum::response::Html;

use crate::sanitize::display_text;
use crate::state::api_error::ApiError;
use crate::state::app_state::AppState;

/// Item of the navigation bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NavItem {
    Search,
    Dashboard,
    Sites,
    Report,
    Snapshots,
    /// A page outside the navigation bar.
    Other,
}

/// Items with path and label.
const NAV_ITEMS: [(NavItem, &str, &str); 5] = [
    (NavItem::Search, "/", "Search"),
    (NavItem::Dashboard, "/dashboard", "Dashboard"),
    (NavItem::Sites, "/sites", "Sites"),
    (NavItem::Report, "/report", "Report"),
    (NavItem::Snapshots, "/snapshots", "Snapshots"),
];

/// Maximum length of the name of the collection.
const NAME_CHARACTERS: usize = 40;

/// Values of the base template.
pub(crate) struct Layout {
    pub(crate) title: String,
    pub(crate) collection: String,
    current: NavItem,
}

impl Layout {
    pub(crate) fn new(state: &AppState, current: NavItem, title: &str) -> Layout {
        let collection = display_text::sanitize_line(&state.name, NAME_CHARACTERS);
        Layout {
            title: if title.is_empty() {
                format!("{collection} \u{b7} weir")
            } else {
                format!("{title} \u{b7} {collection}")
            },
            collection,
            current,
        }
    }

    /// Layout without the name of the collection, for clients that are not authenticated.
    pub(crate) fn anonymous(title: &str) -> Layout {
        Layout { title: format!("{title} \u{b7} weir"), collection: String::new(), current: NavItem::Other }
    }

    /// Items of the navigation bar: whether it is the current one, path, label.
    pub(crate) fn nav_items(&self) -> impl Iterator<Item = (bool, &'static str, &'static str)> {
        NAV_ITEMS.into_iter().map(|(item, path, label)| (item == self.current, path, label))
    }
}

/// Returns the path if it is one of the navigation bar.
pub(crate) fn nav_path(path: &str) -> Option<&'static str> {
    NAV_ITEMS.into_iter().map(|(_, own, _)| own).find(|own| *own == path)
}

/// Renders a template.
pub(crate) fn page(template: &impl askama::Template) -> Result<Html<String>, ApiError> {
    Ok(Html(template.render()?))
}
