//! List of accepted MIME types.

/// MIME types, exact (`text/html`) or with any subtype (`text/*`).
#[derive(Debug, Clone)]
pub(crate) struct MimeTypes(Vec<String>);

impl MimeTypes {
    pub(crate) fn new(types: &[String]) -> MimeTypes {
        MimeTypes(types.iter().map(|pattern| pattern.trim().to_ascii_lowercase()).collect())
    }

    /// Whether the type in a `Content-Type` value is accepted. A value without a valid type is accepted.
    pub(crate) fn matches(&self, content_type: &[u8]) -> bool {
        let essence =
            content_type.split(|byte| matches!(byte, b';' | b',')).next().unwrap_or_default().trim_ascii();
        essence.is_empty()
            || !essence.contains(&b'/')
            || self.0.iter().any(|pattern| type_matches(pattern, essence))
    }

    /// Value of the `Accept` header. It admits other types with low preference: servers that cannot negotiate would
    /// otherwise respond with 406 (not acceptable).
    pub(crate) fn accept_header(&self) -> String {
        self.0.iter().map(|pattern| format!("{pattern},")).collect::<String>() + "*/*;q=0.1"
    }
}

fn type_matches(pattern: &str, essence: &[u8]) -> bool {
    match pattern.strip_suffix('*') {
        Some("" | "*/") => true,
        Some(family) => {
            essence.get(..family.len()).is_some_and(|start| start.eq_ignore_ascii_case(family.as_bytes()))
        }
        None => essence.eq_ignore_ascii_case(pattern.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_match_in_any_case_and_with_parameters() {
        let types = MimeTypes::new(&["Text/HTML".to_owned(), "image/*".to_owned()]);
        for (value, expected) in [
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
            assert_eq!(types.matches(value.as_bytes()), expected, "{value}");
        }
        for all in ["*/*", "*"] {
            assert!(MimeTypes::new(&[all.to_owned()]).matches(b"application/pdf"), "{all}");
        }
        assert_eq!(types.accept_header(), "text/html,image/*,*/*;q=0.1");
    }
}
