//! Which name did somebody mean who wrote one that there is not?

/// A sentence that helps on: the nearest name, or all there are. Names are `section.setting`, or of a section alone.
pub(super) fn guess(name: &str, known: &[String]) -> String {
    let bare = |name: &str| name.rsplit_once('.').map_or(name, |(_, bare)| bare).to_owned();
    // A setting in the wrong section is nearer than any typing mistake.
    if let Some(meant) = known.iter().find(|other| bare(other) == bare(name)) {
        return format!("is `{meant}` meant?");
    }
    let mut sections: Vec<&str> =
        known.iter().filter_map(|name| name.split_once('.')).map(|(section, _)| section).collect();
    sections.dedup();
    let all = known.iter().map(String::as_str).chain(sections.iter().copied());
    let nearest = all.min_by_key(|other| distance(other, name)).unwrap_or_default();
    if distance(nearest, name) <= 1 + name.len() / 5 {
        return format!("is `{nearest}` meant?");
    }
    let section = name.split_once('.').map(|(section, _)| format!("{section}."));
    let in_section = |other: &&str| section.as_ref().is_some_and(|section| other.starts_with(section));
    let settings: Vec<&str> = known.iter().map(String::as_str).filter(in_section).collect();
    format!("there are {}", if settings.is_empty() { sections } else { settings }.join(", "))
}

/// How many letters must be put in, taken out or replaced to make one word of the other (Levenshtein).
fn distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (above, from) in from.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = above + 1;
        for (left, to) in to.bytes().enumerate() {
            let replaced = diagonal + usize::from(from != to);
            diagonal = row[left + 1];
            row[left + 1] = replaced.min(row[left] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_told() {
        let known = ["crawl.contact", "scope.accept", "politeness.wait"].map(str::to_owned);
        assert_eq!(guess("crawl.contct", &known), "is `crawl.contact` meant?");
        assert_eq!(guess("accept", &known), "is `scope.accept` meant?");
        assert_eq!(guess("crawl.wait", &known), "is `politeness.wait` meant?");
        assert_eq!(guess("crawl.colour", &known), "there are crawl.contact");
        assert_eq!(guess("paint", &known), "there are crawl, scope, politeness");
        assert_eq!([distance("", "abc"), distance("kitten", "sitting"), distance("a", "a")], [3, 3, 0]);
    }
}
