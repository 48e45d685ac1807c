//! Is PageRank that of a Web whose truth is known? simweb computes it by another program, over its own links.

use std::collections::BTreeMap;

use ::simweb::{PageRef, Ports, Settings, World};
use analysis::{Arcs, Cores, Csr, PageRank, Weights};

#[test]
fn ranks_are_those_of_the_synthetic_web() {
    let settings = Settings { sites: 60, pages: 6_000, seed: 5, ..Settings::default() };
    let world = World::new(settings, Ports { http: 80, https: 443 }).unwrap();
    let pages: Vec<PageRef> = world
        .site_indexes()
        .flat_map(|site| (0..world.site(site).pages).map(move |page| PageRef { site, page }))
        .collect();
    let number: BTreeMap<(u32, u32), u32> =
        pages.iter().zip(0..).map(|(page, number)| ((page.site, page.page), number)).collect();
    // There a link counts as often as it stands in the page: that is its weight here.
    let mut sources: Vec<BTreeMap<u32, u8>> = vec![BTreeMap::new(); pages.len()];
    let mut totals = vec![0; pages.len()];
    for (source, page) in (0..).zip(&pages) {
        let site = world.site(page.site);
        for target in world.links_truth(&site, page.page).filter_map(|link| link.target_page) {
            *sources[number[&(target.site, target.page)] as usize].entry(source).or_default() += 1;
            totals[source as usize] += 1;
        }
    }
    let weights: Vec<u8> = sources.iter().flat_map(|list| list.values().copied()).collect();
    let backward = Csr::from_lists(sources.iter().map(|list| list.keys().copied().collect::<Vec<u32>>()));
    let backward = Arcs::from(backward);
    let found = PageRank::default()
        .run(&backward, &totals, Weights::Small(&weights), None, Cores(2), &mut |_, _| ())
        .unwrap();
    let truth = world.page_ranks();
    for (page, rank) in pages.iter().zip(&found.ranks) {
        assert!((truth.of(*page) - rank).abs() < 1e-9, "{page:?}: {rank}, in truth {}", truth.of(*page));
    }
    assert!(found.ranks.iter().sum::<f64>() - 1.0 < 1e-12);
}
