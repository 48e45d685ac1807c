//! Suggestion of a known name for an unknown one.

use strsim::levenshtein;

/// Hint for an unknown setting: the nearest name, or the names that exist. Names are `section.setting`, or a section alone.
pub(super) fn suggest(name: &str, known: &[String]) -> String {
    let bare = |name: &str| name.rsplit_once('.').map_or(name, |(_, bare)| bare).to_owned();
    // A setting in the wrong section is a more likely mistake than a typing error.
    if let Some(nearest) = known.iter().find(|other| bare(other) == bare(name)) {
        return format!("did you mean `{nearest}`?");
    }
    let mut sections: Vec<&str> =
        known.iter().filter_map(|name| name.split_once('.')).map(|(section, _)| section).collect();
    sections.dedup();
    let all = known.iter().map(String::as_str).chain(sections.iter().copied());
    let nearest = all.min_by_key(|other| levenshtein(other, name)).unwrap_or_default();
    // One typing error in short names, and one more for every five letters.
    if levenshtein(nearest, name) <= 1 + name.len() / 5 {
        return format!("did you mean `{nearest}`?");
    }
    let section = name.split_once('.').map(|(section, _)| format!("{section}."));
    let in_section = |other: &&str| section.as_ref().is_some_and(|section| other.starts_with(section));
    let settings: Vec<&str> = known.iter().map(String::as_str).filter(in_section).collect();
    format!("known: {}", if settings.is_empty() { sections } else { settings }.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_suggested() {
        let known = ["crawl.contact", "scope.accept", "politeness.delay"].map(str::to_owned);
        assert_eq!(suggest("crawl.contct", &known), "did you mean `crawl.contact`?");
        assert_eq!(suggest("accept", &known), "did you mean `scope.accept`?");
        assert_eq!(suggest("crawl.delay", &known), "did you mean `politeness.delay`?");
        assert_eq!(suggest("crawl.colour", &known), "known: crawl.contact");
        assert_eq!(suggest("paint", &known), "known: crawl, scope, politeness");
    }
}
