//! The step `similarity`: which pages say the same or nearly so, and which sites are copies of others?

use model::{PageId, SiteId};
use serde_json::{Value, json};
use store::{Ranked, Snapshot};

use super::session::Session;
use super::steps::Found;
use crate::duplicate_groups::{GroupCounts, name_by_originals};
use crate::error::Result;
use crate::judged_texts::JudgedTexts;
use crate::mirrors::Mirrors;
use crate::near_duplicates::find_duplicates;
use crate::page_text::PageText;
use crate::term_vector::TermVector;

/// So many mirrors are told of.
const MOST_TOLD: usize = 10;

pub(super) fn similarity(session: &mut Session<'_>) -> Result<Found> {
    let snapshot = &session.snapshot()?;
    let about = &session.graph.about;
    let texts = JudgedTexts::read(snapshot, about.pages)?;
    let read = |page: u32| {
        let Some(record) = snapshot.pages.get(PageId(page))? else { return Ok(None) };
        Ok(PageText::read(snapshot, &record)?.map(|page| TermVector::of(&page.text)))
    };
    let mut found = find_duplicates(&texts, session.settings.cores, read)?;
    let (mut same, mut near) = (found.same.column(), found.near.column());
    let is_copy = copies(snapshot, about.pages)?;
    name_by_originals(&mut same, &is_copy);
    name_by_originals(&mut near, &is_copy);
    let is_judged = |page: u32| texts.digests[page as usize] != 0;
    let mirrors = Mirrors::find(snapshot, &near, is_judged, about.sites)?;
    let site = |site: u32| snapshot.urls.site_name(SiteId(site)).unwrap_or_default();
    let told = |(copy, original, pages): &(u32, u32, u32)| json!({ "site": site(*copy), "of": site(*original), "pages": pages });
    let figures = json!({
        "judged": texts.count(),
        "same": counts(snapshot, &same)?,
        "near": counts(snapshot, &near)?,
        "candidates": found.candidates,
        "unread": found.unread,
        "mirrors": mirrors.largest.len(),
        "largest_mirrors": mirrors.largest.iter().take(MOST_TOLD).map(told).collect::<Vec<_>>(),
    });
    session.write_column(Ranked::Pages, "duplicate-group", same)?;
    session.write_column(Ranked::Pages, "near-group", near)?;
    session.write_column(Ranked::Sites, "mirror-of", mirrors.column)?;
    Ok(Found::Figures(figures))
}

/// Of the first pages of a snapshot, so many: whether another had the same bytes before.
fn copies(snapshot: &Snapshot, pages: u32) -> Result<Vec<bool>> {
    let mut is_copy = vec![false; pages as usize];
    let copies = snapshot.pages.scan_records(|copies: &mut Vec<usize>, page, record| {
        if record.duplicate_of.is_some() {
            copies.push(page.index());
        }
    })?;
    for page in copies.concat() {
        if let Some(is_copy) = is_copy.get_mut(page) {
            *is_copy = true;
        }
    }
    Ok(is_copy)
}

/// A column of groups, in figures.
fn counts(snapshot: &Snapshot, column: &[u32]) -> Result<Value> {
    let counts = GroupCounts::of(column);
    let (first, pages) = counts.largest.unzip();
    let url = first.map(|first| snapshot.urls.url(PageId(first))).transpose()?.flatten();
    Ok(json!({
        "groups": counts.groups, "pages": counts.members,
        "largest": pages.unwrap_or(0), "largest_url": url,
    }))
}
