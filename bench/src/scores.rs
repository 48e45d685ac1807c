//! What the manager computes for every page: its quality by the default strategy, and the profit of a visit by each aim, for
//! 10 million pages in memory, against one exponential and one logarithm for each.

use std::hint::black_box;
use std::io::{self, Write};
use std::time::Instant;

use frontier::{Aim, Most, PageFacts, Profit, Quality, Strategy};
use model::PageId;

const PAGES: u32 = 10_000_000;
const ROUNDS: usize = 3;

/// Measures and prints the figures.
pub(crate) fn run() -> anyhow::Result<()> {
    let yardstick_s = best_s(|page| (1.0 + page as f32).ln() + (-1e-7 * page as f32).exp());
    writeln!(io::stdout(), "scores, yardstick: {yardstick_s:.3} s for an exponential and a logarithm each")?;
    let mut most = Most::default();
    (0..PAGES).for_each(|page| most.see(&facts(page)));
    let quality = Quality::new(Strategy::default().weights(), &most);
    for aim in Aim::ALL {
        let profit = Profit { aim, ..Profit::default() };
        let seconds = best_s(|page| {
            let known_stale = page.is_multiple_of(64);
            let (rate, age_days) = (1e-3 * (page % 1_000) as f32, (page % 100) as f32);
            profit.of_visited(quality.of(&facts(page)), rate, age_days, known_stale)
        });
        let ratio = seconds / yardstick_s;
        writeln!(
            io::stdout(),
            "scores, {aim}: {seconds:.3} s for {PAGES} pages, {ratio:.1} of the yardstick"
        )?;
    }
    Ok(())
}

fn best_s(score: impl Fn(u32) -> f32) -> f64 {
    let round = |_| {
        let start = Instant::now();
        black_box((0..PAGES).map(|page| score(black_box(page))).fold(0.0, f32::max));
        start.elapsed().as_secs_f64()
    };
    (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}

fn facts(page: u32) -> PageFacts {
    PageFacts {
        page: PageId(page),
        depth: (page % 15) as u8,
        dynamic: page.is_multiple_of(3),
        in_links: page % 1_000,
        site_pending: page % 25_000,
        cash: 1e-6 * (page % 10_000) as f32,
        ..PageFacts::default()
    }
}
