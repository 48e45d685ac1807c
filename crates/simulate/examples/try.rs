//! try
use frontier::*;
use simulate::*;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let n = |i: usize| -> u64 { args[i].parse().unwrap() };
    let (pages, sites, connections, seed) = (n(1), n(2), n(3) as usize, n(4));
    let web = Synthetic { pages, sites, seed }.web().unwrap();
    let ranks = page_ranks(&web);
    let rules = CrawlRules {
        waits: Waits::default(),
        batch_pages: pages as usize / 100,
        batch_pages_per_site: 500,
        connections,
    };
    let run = |name: &str, guide: &Guide<'_>, reference: Option<f64>| {
        let order = crawl_order(&web, guide, &rules, |_| ());
        let s = OrderScore::new(&web, &order, &ranks);
        println!(
            "{name:50} rel {:.4} at {:.3} {:.3} {:.3}",
            s.area / reference.unwrap_or(s.area),
            s.at[0],
            s.at[1],
            s.at[2]
        );
        s.area
    };
    let r = run("omniscient", &Guide::omniscient(&ranks), None);
    for spec in &args[5..] {
        if let Ok(s) = spec.parse::<Strategy>() {
            run(spec, &Guide::of(s), Some(r));
            continue;
        }
        let weights = spec.split(',').map(|part| {
            let (name, weight) = part.split_once('=').unwrap();
            (Term::ALL.into_iter().find(|t| t.as_str() == name).unwrap(), weight.parse::<f32>().unwrap())
        });
        run(spec, &Guide { weights: weights.collect(), ranks: Ranks::None }, Some(r));
    }
}
