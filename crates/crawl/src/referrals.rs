//! Which other sites does the robots.txt of a site lead to? Whoever crawls with a crew of his own sends somebody there when he learns
//! of it. A batch that is lent must own where it asks before it leaves: so its harvester gives such a site back, the notes of the
//! collection remember where it leads, and the next batch with it comes with the other site's address.
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

fn prefix(site: SiteId) -> String {
    format!("refers {} ", site.0)
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
    }
}
