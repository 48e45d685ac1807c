//! Scores: quality by the default strategy and priority by each objective for 10 million pages in memory, compared
//! with one exponential and one logarithm for each page.

use std::hint::black_box;
use std::io::{self, Write};
use std::time::Instant;

use frontier::{FactMaxima, Objective, PageFacts, PriorityModel, Quality, Strategy};
use model::PageId;

const PAGES: u32 = 10_000_000;
const ROUNDS: usize = 3;

/// Runs the benchmark and prints its figures.
pub(crate) fn run() -> anyhow::Result<()> {
    let baseline_s = best_s(|page| (1.0 + page as f32).ln() + (-1e-7 * page as f32).exp());
    writeln!(io::stdout(), "scores, baseline: {baseline_s:.3} s for an exponential and a logarithm each")?;
    let mut most = FactMaxima::default();
    (0..PAGES).for_each(|page| most.observe(&facts(page)));
    let quality = Quality::new(Strategy::default().weights(), &most);
    for aim in Objective::ALL {
        let profit = PriorityModel { objective: aim, ..PriorityModel::default() };
        let seconds = best_s(|page| {
            let known_stale = page.is_multiple_of(64);
            let (rate, age_days) = (1e-3 * (page % 1_000) as f32, (page % 100) as f32);
            profit.for_visited_page(quality.evaluate(&facts(page)), rate, age_days, known_stale)
        });
        let ratio = seconds / baseline_s;
        writeln!(
            io::stdout(),
            "scores, {aim}: {seconds:.3} s for {PAGES} pages, {ratio:.1} of the baseline"
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
        is_dynamic: page.is_multiple_of(3),
        inlinks: page % 1_000,
        site_unfetched_pages: page % 25_000,
        cash: 1e-6 * (page % 10_000) as f32,
        ..PageFacts::default()
    }
}
