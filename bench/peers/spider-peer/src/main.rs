//! Crawler with the `spider` crate: all seeds in one process, obeying robots.txt, without delays, with the WARC writer of the
//! crate. This program itself parses and stores nothing.
//!
//! Usage: spider-peer SEEDS OUT SITES REQUESTS
//! SEEDS has a URL on each line; OUT is an existing directory; SITES sites are crawled concurrently, each with REQUESTS requests.

use std::error::Error;
use std::sync::Arc;

use spider::utils::warc::WarcConfig;
use spider::website::Website;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [seeds, out, sites, requests] = arguments.as_slice() else {
        return Err("usage: spider-peer SEEDS OUT SITES REQUESTS".into());
    };
    let turns = Arc::new(Semaphore::new(sites.parse()?));
    let requests: usize = requests.parse()?;
    let mut crawls = JoinSet::new();
    for seed in std::fs::read_to_string(seeds)?.lines() {
        let (seed, out, turns) = (seed.to_owned(), out.clone(), turns.clone());
        crawls.spawn(async move {
            let _turn = turns.acquire_owned().await;
            crawl(&seed, &out, requests).await
        });
    }
    let mut pages = 0;
    while let Some(crawled) = crawls.join_next().await {
        pages += crawled?;
    }
    println!("{pages} pages");
    Ok(())
}

/// Crawls one site completely and returns the number of pages.
async fn crawl(seed: &str, out: &str, requests: usize) -> usize {
    let host = seed.trim_start_matches("http://").trim_end_matches('/');
    let mut website = Website::new(seed);
    website
        .with_user_agent(Some("spider-peer"))
        .with_respect_robots_txt(true)
        .with_delay(0)
        .with_concurrency_limit(Some(requests));
    website.configuration.with_warc(WarcConfig { path: format!("{out}/{host}.warc"), ..WarcConfig::default() });
    website.crawl().await;
    website.get_size().await
}
