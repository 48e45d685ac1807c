//! Simulator: time of the default strategy on a million pages, its distance from the omniscient order, and the
//! distance of revisits by estimated change rates from the optimal allocation.

use std::io::{self, Write};
use std::time::Instant;

use frontier::{Objective, Politeness, PriorityModel, Strategy};
use simulate::{
    CrawlParams, OrderPolicy, OrderScore, RefreshParams, RefreshPolicy, Synthetic, crawl_order, page_ranks,
    simulate_refresh,
};

const WEB: Synthetic = Synthetic { pages: 1_000_000, sites: 20_000, seed: 1 };

/// Runs the benchmark and prints its figures.
pub(crate) fn run() -> anyhow::Result<()> {
    let web = WEB.web()?;
    let ranks = page_ranks(&web);
    let params = CrawlParams {
        politeness: Politeness::default(),
        max_batch_pages: web.pages.len() / 100,
        max_batch_pages_per_site: 500,
        max_connections: 1_000,
    };
    let area = |policy: &OrderPolicy<'_>| {
        let start = Instant::now();
        let order = crawl_order(&web, policy, &params, |_| ());
        (OrderScore::new(&web, &order, &ranks).auc, start.elapsed().as_secs_f64())
    };
    let (upper_bound, _) = area(&OrderPolicy::omniscient(&ranks));
    let (ours, seconds) = area(&OrderPolicy::from_strategy(Strategy::default()));
    let (pages, links) = (web.pages.len(), web.link_count());
    writeln!(io::stdout(), "simulate, order: {seconds:.1} s for {pages} pages and {links} links")?;
    writeln!(io::stdout(), "simulate, AUC: {:.4} of the omniscient order", ours / upper_bound)?;
    let refresh = RefreshParams { max_pages: 20_000, ..RefreshParams::default() };
    let fresh = |policy| simulate_refresh(&web, policy, &refresh).freshness;
    let best = fresh(RefreshPolicy::Oracle(Objective::Freshness));
    let policies = [
        ("estimated", RefreshPolicy::Estimated(PriorityModel::default(), None)),
        ("uniform", RefreshPolicy::Uniform),
        ("proportional", RefreshPolicy::Proportional),
    ];
    for (name, policy) in policies {
        writeln!(
            io::stdout(),
            "simulate, freshness, {name}: {:.4} of the optimum with known rates",
            fresh(policy) / best
        )?;
    }
    Ok(())
}
