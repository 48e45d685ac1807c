//! Page budgets of the URL groups of a site: a maze costs little, a large site is crawled whole.
//!
//! A page that is linked only from within its own group shows nothing about the value of the group: a trap can generate any
//! number of them. Such pages are admitted up to a budget. The budget of a group grows with evidence from outside:
//!
//! - a page of the group that is linked from outside of it, by the same site, another site or a sitemap;
//! - a page of the group whose links lead to new pages outside of it: the pages of a list lead to its items;
//! - a page that a second page links to which is not deeper: in a real site most pages are linked from several others, while
//!   the paths of a trap are new each time. The pages of a calendar are linked forth and back, so that this is no evidence for
//!   the form of pages with a number or date in place of a name;
//! - for directories and sites, a closed page: all its links lead to pages that are known already. A trap has none.
//!
//! A page without room is rejected ([`Reason::TemplateBudget`](model::Reason)) and admitted later, when it is linked from outside of the
//! group or the budget has grown.
//!
//! The number of groups in memory is bounded. Those with few pages are not stored: after a restart their budgets begin anew.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use frontier::{GroupSet, SITE_GROUP, TemplateLimits, URL_GROUPS, UrlGroups};
use model::SiteId;
use serde::{Deserialize, Serialize};

/// Pages of a group, without those linked from outside, from which on it is stored.
const MIN_STORED_PAGES: u32 = 10;
/// Groups for which a second link to a numbered page is evidence: all but the form.
const WIDE_GROUPS: GroupSet = 0b1110;
/// Groups for which a closed page is evidence: section and site.
const CLOSED_PAGE_GROUPS: GroupSet = 0b1100;

/// Budgets of all groups.
#[derive(Debug, Default)]
pub(crate) struct TemplateBudgets {
    limits: TemplateLimits,
    groups: HashMap<(SiteId, u64), GroupUse>,
    /// Sites with rejected pages.
    rejected: HashSet<SiteId>,
    /// Those of them with evidence since their pages were checked last.
    grown: HashSet<SiteId>,
    is_changed: bool,
}

/// Use of a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct GroupUse {
    /// Admitted pages that were linked from within the group only.
    pages: u32,
    evidence: u32,
}

/// Stored budgets: one line for each group, in hexadecimal numbers; sites with rejected pages have one of their own.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct StoredBudgets(String);

/// Further links to a known page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LinkSupport {
    /// Groups of the page.
    pub(crate) groups: UrlGroups,
    /// Groups that they come from outside of.
    pub(crate) outside: GroupSet,
    /// Whether one of them is the second link to the page, from a page that is not deeper.
    pub(crate) is_second: bool,
}

/// Use and size of the budget of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TemplateBudget {
    /// Index of the group, from narrow to wide.
    pub group: usize,
    /// Pages that were linked from within the group only.
    pub pages: u64,
    /// Maximum number of such pages.
    pub max_pages: u64,
}

impl TemplateBudgets {
    pub(crate) fn new(limits: TemplateLimits) -> TemplateBudgets {
        TemplateBudgets { limits, ..TemplateBudgets::default() }
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.limits.pages > 0
    }

    /// Decides on a new page that is linked from a page of the same site, or from outside (`None`).
    pub(crate) fn admit(&mut self, site: SiteId, target: UrlGroups, source: Option<UrlGroups>) -> bool {
        let outside = source.map_or(GroupSet::MAX, |source| target.without(source));
        if !self.take(site, target, outside) {
            return false;
        }
        self.add_evidence(site, target, outside);
        if let Some(source) = source {
            // The source leads out of these groups.
            self.add_evidence(site, source, source.without(target));
        }
        true
    }

    /// Records a further link to a known page: `outside` are the groups that it comes from outside of, and `is_second` says
    /// that it is the second one, from a page that is not deeper.
    pub(crate) fn add_link(&mut self, site: SiteId, target: UrlGroups, outside: GroupSet, is_second: bool) {
        let second = if target.is_numbered() { WIDE_GROUPS } else { GroupSet::MAX };
        self.add_evidence(site, target, if is_second { outside | second } else { outside });
    }

    /// Records a page without links to pages of its site that are new or rejected.
    pub(crate) fn add_closed_page(&mut self, site: SiteId, page: UrlGroups) {
        self.add_evidence(site, page, CLOSED_PAGE_GROUPS);
    }

    /// Whether pages of a site have been rejected.
    pub(crate) fn has_rejected(&self, site: SiteId) -> bool {
        self.rejected.contains(&site)
    }

    /// Takes the room of a page in all groups but those that it is linked from outside of; false if one has none.
    pub(crate) fn take(&mut self, site: SiteId, target: UrlGroups, outside: GroupSet) -> bool {
        let inside = || (0..URL_GROUPS).filter(move |group| outside & 1 << group == 0);
        for group in inside() {
            let Some(hash) = target.get(group) else { continue };
            let used = self.groups.get(&(site, hash)).copied().unwrap_or_default();
            if u64::from(used.pages) >= max_pages(&self.limits, group, used.evidence) {
                self.rejected.insert(site);
                return false;
            }
        }
        for group in inside() {
            if let Some(used) = self.group(site, target, group) {
                used.pages = used.pages.saturating_add(1);
            }
        }
        true
    }

    /// Sites with rejected pages whose budgets have grown since the last call.
    pub(crate) fn take_grown(&mut self) -> HashSet<SiteId> {
        std::mem::take(&mut self.grown)
    }

    fn add_evidence(&mut self, site: SiteId, target: UrlGroups, groups: GroupSet) {
        let mut is_added = false;
        for group in (0..URL_GROUPS).filter(|group| groups & 1 << group != 0) {
            if let Some(used) = self.group(site, target, group) {
                used.evidence = used.evidence.saturating_add(1);
                is_added = true;
            }
        }
        if is_added && self.rejected.contains(&site) {
            self.grown.insert(site);
        }
    }

    /// Use of a group; `None` if the URL does not have it, or the table is full.
    fn group(&mut self, site: SiteId, target: UrlGroups, group: usize) -> Option<&mut GroupUse> {
        let key = (site, target.get(group)?);
        self.is_changed = true;
        if self.groups.len() >= self.limits.max_groups && !self.groups.contains_key(&key) {
            return None;
        }
        Some(self.groups.entry(key).or_default())
    }

    /// Stored form, if it has changed since the last call.
    pub(crate) fn store(&mut self) -> Option<StoredBudgets> {
        if !std::mem::take(&mut self.is_changed) {
            return None;
        }
        let mut lines = String::new();
        let mut groups: Vec<_> =
            self.groups.iter().filter(|(_, used)| used.pages >= MIN_STORED_PAGES).collect();
        groups.sort_unstable_by_key(|(key, _)| **key);
        for ((site, hash), used) in groups {
            // Writing to a string cannot fail.
            let _ = writeln!(lines, "{:x} {hash:x} {:x} {:x}", site.0, used.pages, used.evidence);
        }
        let mut rejected: Vec<&SiteId> = self.rejected.iter().collect();
        rejected.sort_unstable();
        rejected.iter().for_each(|site| {
            let _ = writeln!(lines, "{:x}", site.0);
        });
        Some(StoredBudgets(lines))
    }

    /// Loads the stored budgets of the last commit.
    pub(crate) fn load(&mut self, stored: &StoredBudgets) {
        for line in stored.0.lines() {
            let numbers: Vec<u64> =
                line.split(' ').map_while(|text| u64::from_str_radix(text, 16).ok()).collect();
            match numbers.as_slice() {
                [site, hash, pages, evidence] if self.groups.len() < self.limits.max_groups => {
                    let used = GroupUse { pages: *pages as u32, evidence: *evidence as u32 };
                    self.groups.insert((SiteId(*site as u32), *hash), used);
                }
                [site] => {
                    self.rejected.insert(SiteId(*site as u32));
                }
                _ => {}
            }
        }
    }
}

impl StoredBudgets {
    /// Budget of the narrowest group of a URL without room; `None` if all have room.
    pub(crate) fn exhausted(
        &self,
        limits: &TemplateLimits,
        site: SiteId,
        url: UrlGroups,
    ) -> Option<TemplateBudget> {
        let mut budgets = TemplateBudgets::new(*limits);
        budgets.load(self);
        let budget = |group: usize| {
            let used = budgets.groups.get(&(site, url.get(group)?))?;
            let max_pages = max_pages(limits, group, used.evidence);
            let budget = TemplateBudget { group, pages: u64::from(used.pages), max_pages };
            Some(budget).filter(|budget| budget.pages >= budget.max_pages)
        };
        (0..URL_GROUPS).find_map(budget)
    }
}

fn max_pages(limits: &TemplateLimits, group: usize, evidence: u32) -> u64 {
    let pages = if group == SITE_GROUP { limits.site_pages } else { limits.pages };
    pages.saturating_add(limits.pages_per_evidence.saturating_mul(u64::from(evidence)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITE: SiteId = SiteId(3);

    fn budgets() -> TemplateBudgets {
        TemplateBudgets::new(TemplateLimits {
            pages: 10,
            site_pages: 50,
            pages_per_evidence: 4,
            max_groups: 1_000,
        })
    }

    fn groups(path: &str) -> UrlGroups {
        UrlGroups::of_url(&format!("http://a.example{path}"))
    }

    /// Number of pages that are admitted, of 1,000 which the page before links to.
    fn admitted(budgets: &mut TemplateBudgets, path: impl Fn(u32) -> String) -> u32 {
        let mut source = groups("/");
        let is_admitted = |number: &u32| {
            let target = groups(&path(*number));
            let is_admitted = budgets.admit(SITE, target, Some(source));
            source = target;
            is_admitted
        };
        (0..1_000).filter(is_admitted).count() as u32
    }

    #[test]
    fn a_maze_a_calendar_and_growing_paths_end_at_their_budget() {
        let word = |number: u32| ["red", "old", "far", "low"][number as usize % 4];
        let growing = |number: u32| {
            (0..number % 12).map(word).fold("/archive/".to_owned(), |path, word| path + word + "/")
        };
        assert_eq!(admitted(&mut budgets(), |number| format!("/maze/{number:x}")), 15);
        assert_eq!(
            admitted(&mut budgets(), |number| format!("/calendar/{}/{}", number / 12, number % 12)),
            15
        );
        assert!(admitted(&mut budgets(), growing) < 60);
        // Free paths, of which no two have a directory in common.
        assert!(
            admitted(&mut budgets(), |number| format!("/{}{}/x/", word(number), "a".repeat(number as usize)))
                < 70
        );
    }

    #[test]
    fn a_list_whose_pages_lead_to_new_items_is_admitted_whole() {
        let mut budgets = budgets();
        let mut source = groups("/");
        for number in 0..500 {
            let list = groups(&format!("/list?page={number}"));
            assert!(budgets.admit(SITE, list, Some(source)), "{number}");
            assert!(budgets.admit(SITE, groups(&format!("/item/{number}.html")), Some(list)));
            budgets.add_link(SITE, groups(&format!("/item/{number}.html")), 0, true);
            source = list;
        }
    }

    #[test]
    fn a_second_link_is_evidence_except_for_the_form_of_numbered_pages() {
        let (mut maze, mut site, mut directory) = (budgets(), budgets(), budgets());
        let (mut in_maze, mut in_site, mut in_directory) = (0, 0, 0);
        for number in 0..500 {
            let link = |budgets: &mut TemplateBudgets, page: &str, from: &str| {
                let is_admitted = budgets.admit(SITE, groups(page), Some(groups(from)));
                budgets.add_link(SITE, groups(page), 0, true);
                u32::from(is_admitted)
            };
            in_maze += link(&mut maze, &format!("/maze/{number}"), "/maze/0");
            in_directory += link(&mut directory, &format!("/docs/page-{number}.html"), "/docs/index.html");
            in_site += link(&mut site, &format!("/docs/{}/page", "x".repeat(number)), "/docs/index/page");
        }
        assert!(in_maze <= 11 && in_site == 500 && in_directory == 500, "{in_maze} {in_site} {in_directory}");
    }

    #[test]
    fn links_from_other_sites_admit_a_page_and_extend_the_budget() {
        let mut budgets = budgets();
        admitted(&mut budgets, |number| format!("/maze/{number:x}"));
        assert!(!budgets.admit(SITE, groups("/maze/a1"), Some(groups("/maze/b2"))));
        assert!(budgets.take_grown().is_empty());
        assert!(budgets.admit(SITE, groups("/maze/a1"), None));
        assert_eq!(budgets.take_grown(), HashSet::from([SITE]));
        assert!(budgets.take(SITE, groups("/maze/c3"), 0));
    }

    #[test]
    fn budgets_are_stored_and_bounded_in_number() {
        let mut budgets = budgets();
        admitted(&mut budgets, |number| format!("/maze/{number:x}"));
        let stored = budgets.store().unwrap();
        assert_eq!(budgets.store(), None, "nothing has changed");
        let mut restored = self::budgets();
        restored.load(&stored);
        assert!(!restored.take(SITE, groups("/maze/1"), 0) && restored.rejected.contains(&SITE));
        let budget = stored.exhausted(&budgets.limits, SITE, groups("/maze/1")).unwrap();
        assert_eq!((budget.group, budget.pages, budget.max_pages), (0, 14, 14));
        assert_eq!(stored.exhausted(&budgets.limits, SITE, groups("/other/1")), None);
        let mut small = TemplateBudgets::new(TemplateLimits { max_groups: 5, ..budgets.limits });
        admitted(&mut small, |number| format!("/{}/x", "y".repeat(number as usize)));
        assert!(small.groups.len() <= 5);
    }
}
