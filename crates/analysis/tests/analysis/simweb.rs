//! PageRank on a synthetic Web with ground truth, which simweb computes independently from its own links.

use std::collections::BTreeMap;

use ::simweb::{PageRef, Ports, Settings, World};
use analysis::{Adjacency, Csr, PageRank, Threads, Weights};

#[test]
fn ranks_equal_the_ground_truth_of_the_synthetic_web() {
    let settings = Settings { sites: 60, pages: 6_000, seed: 5, ..Settings::default() };
    let world = World::new(settings, Ports { http: 80, https: 443 }).unwrap();
    let pages: Vec<PageRef> = world
        .site_indexes()
        .flat_map(|site| (0..world.site(site).pages).map(move |page| PageRef { site, page }))
        .collect();
    let number: BTreeMap<(u32, u32), u32> =
        pages.iter().zip(0..).map(|(page, number)| ((page.site, page.page), number)).collect();
    // simweb counts each occurrence of a link; here that is its weight.
    let mut sources: Vec<BTreeMap<u32, u8>> = vec![BTreeMap::new(); pages.len()];
    let mut totals = vec![0; pages.len()];
    for (source, page) in (0..).zip(&pages) {
        let site = world.site(page.site);
        for target in world.links_ground_truth(&site, page.page).filter_map(|link| link.target_page) {
            *sources[number[&(target.site, target.page)] as usize].entry(source).or_default() += 1;
            totals[source as usize] += 1;
        }
    }
    let weights: Vec<u8> = sources.iter().flat_map(|list| list.values().copied()).collect();
    let backward = Csr::from_lists(sources.iter().map(|list| list.keys().copied().collect::<Vec<u32>>()));
    let backward = Adjacency::from(backward);
    let found = PageRank::default()
        .run(&backward, &totals, Weights::Small(&weights), None, Threads(2), &mut |_, _| ())
        .unwrap();
    let truth = world.page_ranks();
    for (page, rank) in pages.iter().zip(&found.ranks) {
        assert!(
            (truth.get(*page) - rank).abs() < 1e-9,
            "{page:?}: {rank}, ground truth {}",
            truth.get(*page)
        );
    }
    assert!(found.ranks.iter().sum::<f64>() - 1.0 < 1e-12);
}
