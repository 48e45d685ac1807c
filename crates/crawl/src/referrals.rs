//! Which other sites does the robots.txt of a site lead to? Whoever crawls with a crew of his own sends somebody there when he learns
//! of it. A batch that is lent must own where it asks before it leaves: so its harvester gives such a site back, the notes of the
//! collection remember where it leads, and the next batch with it comes with the other site's address. When its robots.txt has come,
//! that is forgotten: there are as many notes as sites that wait for theirs.
//!
//! A note is called `refers`, the number of the site, the name of the other one.

use std::collections::BTreeMap;

use model::SiteId;

use crate::robots_answer::REDIRECTS;

/// A site whose robots.txt leads to ever other ones has none that can be reached.
pub(crate) const MOST: usize = REDIRECTS as usize;

pub(crate) fn note(notes: &mut BTreeMap<String, u64>, site: SiteId, name: &str) {
    if of(notes, site).count() < MOST {
        notes.insert(format!("{}{name}", prefix(site)), 1);
    }
}

/// The names of the other sites.
pub(crate) fn of(notes: &BTreeMap<String, u64>, site: SiteId) -> impl Iterator<Item = &str> {
    let prefix = prefix(site);
    let length = prefix.len();
    let own = notes.range(prefix.clone()..).take_while(move |(name, _)| name.starts_with(&prefix));
    own.map(move |(name, _)| &name[length..])
}

/// The site has a robots.txt now.
pub(crate) fn forget(notes: &mut BTreeMap<String, u64>, site: SiteId) {
    let own: Vec<String> = of(notes, site).map(|name| format!("{}{name}", prefix(site))).collect();
    for name in own {
        notes.remove(&name);
    }
}

/// All sites that refer to others, with the names of those.
pub(crate) fn all(notes: &BTreeMap<String, u64>) -> impl Iterator<Item = (SiteId, &str)> {
    let notes = notes.range(REFERS.to_owned()..).map_while(|(name, _)| name.strip_prefix(REFERS));
    notes.filter_map(|note| {
        let (site, name) = note.split_once(' ')?;
        Some((SiteId(site.parse().ok()?), name))
    })
}

const REFERS: &str = "refers ";

fn prefix(site: SiteId) -> String {
    format!("{REFERS}{} ", site.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_refers_to_a_few_others() {
        let mut notes = BTreeMap::from([("refersx".to_owned(), 1)]);
        note(&mut notes, SiteId(1), "http://a.example");
        (0..9).for_each(|number| note(&mut notes, SiteId(11), &format!("http://{number}.example")));
        assert_eq!(of(&notes, SiteId(1)).collect::<Vec<_>>(), ["http://a.example"]);
        assert_eq!(of(&notes, SiteId(11)).count(), MOST);
        assert_eq!(of(&notes, SiteId(2)).count(), 0);
        assert_eq!(all(&notes).filter(|(site, _)| *site == SiteId(11)).count(), MOST);
        forget(&mut notes, SiteId(11));
        assert_eq!(all(&notes).collect::<Vec<_>>(), [(SiteId(1), "http://a.example")]);
    }
}
