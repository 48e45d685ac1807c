//! Is this a kind of document that somebody wants?

/// Media types, exact (`text/html`) or whole families (`text/*`).
#[derive(Debug, Clone)]
pub(crate) struct MediaTypes(Vec<String>);

impl MediaTypes {
    pub(crate) fn new(types: &[String]) -> MediaTypes {
        MediaTypes(types.iter().map(|one| one.trim().to_ascii_lowercase()).collect())
    }

    /// Whether the type in a `Content-Type` is one of these. A header that names no type says nothing.
    pub(crate) fn hold(&self, content_type: &[u8]) -> bool {
        let essence =
            content_type.split(|byte| matches!(byte, b';' | b',')).next().unwrap_or_default().trim_ascii();
        essence.is_empty() || !essence.contains(&b'/') || self.0.iter().any(|known| covers(known, essence))
    }

    /// As an `Accept` line has them; others are not refused, for many servers know no type but their own.
    pub(crate) fn accept(&self) -> String {
        self.0.iter().map(|one| format!("{one},")).collect::<String>() + "*/*;q=0.1"
    }
}

fn covers(known: &str, essence: &[u8]) -> bool {
    match known.strip_suffix('*') {
        Some(family) => {
            essence.get(..family.len()).is_some_and(|start| start.eq_ignore_ascii_case(family.as_bytes()))
        }
        None => essence.eq_ignore_ascii_case(known.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_held_with_their_parameters() {
        let types = MediaTypes::new(&["Text/HTML".to_owned(), "image/*".to_owned()]);
        for (value, held) in [
            ("text/html", true),
            ("TEXT/html; charset=utf-8", true),
            ("text/html;", true),
            ("text/htmlx", false),
            ("text/plain", false),
            ("image/png", true),
            ("image", true),
            ("", true),
            ("application/pdf", false),
        ] {
            assert_eq!(types.hold(value.as_bytes()), held, "{value}");
        }
        assert_eq!(types.accept(), "text/html,image/*,*/*;q=0.1");
    }
}
