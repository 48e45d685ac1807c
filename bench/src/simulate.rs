//! The laboratory: how long the default strategy takes on a million pages, how close it comes to the omniscient order, and how
//! close revisits by estimated rates come to the best allocation.

use std::io::{self, Write};
use std::time::Instant;

use frontier::{Aim, Profit, Strategy, Waits};
use simulate::{
    CrawlRules, Guide, OrderScore, RefreshGuide, RefreshRules, Synthetic, crawl_order, keep_fresh, page_ranks,
};

const WEB: Synthetic = Synthetic { pages: 1_000_000, sites: 20_000, seed: 1 };

/// Measures and prints the figures.
pub(crate) fn run() -> anyhow::Result<()> {
    let web = WEB.web()?;
    let ranks = page_ranks(&web);
    let rules = CrawlRules {
        waits: Waits::default(),
        batch_pages: web.pages.len() / 100,
        batch_pages_per_site: 500,
        connections: 1_000,
    };
    let area = |guide: &Guide<'_>| {
        let start = Instant::now();
        let order = crawl_order(&web, guide, &rules, |_| ());
        (OrderScore::new(&web, &order, &ranks).area, start.elapsed().as_secs_f64())
    };
    let (most, _) = area(&Guide::omniscient(&ranks));
    let (ours, seconds) = area(&Guide::of(Strategy::default()));
    let (pages, links) = (web.pages.len(), web.link_count());
    writeln!(io::stdout(), "simulate, order: {seconds:.1} s for {pages} pages and {links} links")?;
    writeln!(io::stdout(), "simulate, area: {:.4} of the omniscient order", ours / most)?;
    let refresh = RefreshRules { most_pages: 20_000, ..RefreshRules::default() };
    let fresh = |guide| keep_fresh(&web, guide, &refresh).freshness;
    let best = fresh(RefreshGuide::Oracle(Aim::Freshness));
    let guides = [
        ("estimated", RefreshGuide::Estimated(Profit::default(), None)),
        ("uniform", RefreshGuide::Uniform),
        ("proportional", RefreshGuide::Proportional),
    ];
    for (name, guide) in guides {
        writeln!(
            io::stdout(),
            "simulate, freshness, {name}: {:.4} of who knows the rates",
            fresh(guide) / best
        )?;
    }
    Ok(())
}
