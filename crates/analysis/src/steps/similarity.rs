//! The step `similarity`: exact and near duplicates of pages, and mirrors of sites.

use model::{PageId, SiteId};
use store::{RankTarget, Snapshot};

use super::step_context::StepContext;
use super::step_result::{ClusterCounts, MirrorPair, SimilarityResult};
use crate::error::Result;
use crate::similarity::mirrors::Mirrors;
use crate::similarity::near_duplicates::find_duplicates;
use crate::similarity::page_text::PageText;
use crate::similarity::term_vector::TermVector;
use crate::similarity::text_fingerprints::TextFingerprints;
use crate::similarity::union_find::{GroupSizes, name_by_originals};

/// Number of mirrors in the result of the step.
const TOP_MIRRORS: usize = 10;

pub(super) fn similarity(context: &mut StepContext<'_>) -> Result<SimilarityResult> {
    let snapshot = &context.snapshot()?;
    let info = &context.graph.info;
    let texts = TextFingerprints::read(snapshot, info.pages)?;
    let read = |page: u32| {
        let Some(record) = snapshot.page_state.get(PageId(page))? else { return Ok(None) };
        Ok(PageText::read(snapshot, &record)?.map(|page| TermVector::from_text(&page.text)))
    };
    let mut duplicates = find_duplicates(&texts, context.settings.threads, read)?;
    let (mut exact, mut near) = (duplicates.exact.column(), duplicates.near.column());
    let is_copy = exact_copies(snapshot, info.pages)?;
    name_by_originals(&mut exact, &is_copy);
    name_by_originals(&mut near, &is_copy);
    let is_comparable = |page: u32| texts.digests[page as usize] != 0;
    let mirrors = Mirrors::find(snapshot, &near, is_comparable, info.sites)?;
    let site_name = |site: u32| snapshot.urls.site_name(SiteId(site)).unwrap_or_default().to_owned();
    let largest_mirrors = mirrors.largest.iter().take(TOP_MIRRORS);
    let result = SimilarityResult {
        pages_compared: texts.count(),
        exact_duplicates: cluster_counts(snapshot, &exact)?,
        near_duplicates: cluster_counts(snapshot, &near)?,
        candidates: duplicates.candidates,
        candidates_skipped: duplicates.skipped,
        mirrors: mirrors.largest.len() as u64,
        largest_mirrors: largest_mirrors
            .map(|(mirror, original, pages)| MirrorPair {
                site: site_name(*mirror),
                of: site_name(*original),
                pages: *pages,
            })
            .collect(),
    };
    context.write_column(RankTarget::Pages, "duplicate-group", exact)?;
    context.write_column(RankTarget::Pages, "near-group", near)?;
    context.write_column(RankTarget::Sites, "mirror-of", mirrors.column)?;
    Ok(result)
}

/// For each of the first `pages` pages, whether an earlier page has the same bytes.
fn exact_copies(snapshot: &Snapshot, pages: u32) -> Result<Vec<bool>> {
    let mut is_copy = vec![false; pages as usize];
    let copies = snapshot.page_state.scan_records(|copies: &mut Vec<usize>, page, record| {
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

fn cluster_counts(snapshot: &Snapshot, column: &[u32]) -> Result<ClusterCounts> {
    let sizes = GroupSizes::from_column(column);
    let (first, pages) = sizes.largest.unzip();
    let largest_url = first.map(|first| snapshot.urls.url(PageId(first))).transpose()?.flatten();
    Ok(ClusterCounts { groups: sizes.groups, pages: sizes.members, largest: pages.unwrap_or(0), largest_url })
}
