//! Ranking quality on the CACM test collection: 3,204 abstracts, 52 topics with relevance judgements.
//!
//! Published for BM25: MAP 0.3123 (Anserini's default) and 0.3241 (k1 1.2, b 0.75, with stems and stop words).

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::Read;

use flate2::read::GzDecoder;
use search::{LinkMatches, Query, SearchOptions};

use crate::sample::{Page, Sample, path, settings};

/// Number of evaluated hits per topic.
const DEPTH: usize = 1_000;

#[test]
fn the_ranking_is_as_good_as_published_results() {
    let Some(dir) = testkit::shared_data("search") else { return };
    let archive = fs::read(dir.join("cacm.tar.gz")).unwrap();
    let read = |name: &str| fs::read_to_string(dir.join(name)).unwrap();
    let pages = unpack(&archive);
    assert_eq!(pages.len(), 3_204);
    let pages: Vec<Page<'_>> = pages
        .iter()
        .map(|(url, body)| Page { url, head: "Content-Type: text/html\r\n", body, depth: 0 })
        .collect();
    let sample = Sample::of_pages(&pages, &settings());
    let topics = topics(&read("topics.cacm.txt"));
    let judged = judgements(&read("qrels.cacm.txt"));
    assert_eq!(judged.len(), 52);
    let (mut precision, mut gain) = (0.0, 0.0);
    for (topic, relevant) in &judged {
        let query = Query::any_word(&topics[topic]).unwrap();
        let options = SearchOptions { limit: DEPTH, collapse: false, ..SearchOptions::default() };
        let result = sample.searcher.search(&query, &LinkMatches::default(), &options).unwrap();
        let found: Vec<String> = result.hits.iter().map(|hit| path(&hit.url)[1..].to_owned()).collect();
        precision += average_precision(&found, relevant);
        gain += discounted_gain(&found, relevant);
    }
    let (map, ndcg) = (precision / judged.len() as f64, gain / judged.len() as f64);
    eprintln!("CACM: MAP {map:.4}, nDCG {ndcg:.4}");
    assert!(map >= 0.3241, "{map}");
}

fn average_precision(found: &[String], relevant: &HashSet<String>) -> f64 {
    let ranks = found.iter().enumerate().filter(|(_, page)| relevant.contains(*page));
    let precisions = (1..).zip(ranks).map(|(hits, (rank, _))| f64::from(hits) / (rank + 1) as f64);
    precisions.sum::<f64>() / relevant.len() as f64
}

fn discounted_gain(found: &[String], relevant: &HashSet<String>) -> f64 {
    let gain = |rank: usize| 1.0 / ((rank + 2) as f64).log2();
    let own: f64 =
        (0..).zip(found).filter(|(_, page)| relevant.contains(*page)).map(|(rank, _)| gain(rank)).sum();
    own / (0..relevant.len()).map(gain).sum::<f64>()
}

/// Unpacks a tar archive: URL from the file name, and text.
fn unpack(archive: &[u8]) -> Vec<(String, String)> {
    let mut tar = Vec::new();
    GzDecoder::new(archive).read_to_end(&mut tar).unwrap();
    let mut files = Vec::new();
    let mut at = 0;
    while at + 512 <= tar.len() && tar[at] != 0 {
        let field = |from: usize, length: usize| {
            let bytes = &tar[at + from..at + from + length];
            String::from_utf8_lossy(bytes).trim_matches(['\0', ' ']).to_owned()
        };
        let size = usize::from_str_radix(&field(124, 12), 8).unwrap();
        let text = String::from_utf8_lossy(&tar[at + 512..at + 512 + size]).into_owned();
        let name = field(0, 100);
        if let Some(name) = name.rsplit('/').next().and_then(|name| name.strip_suffix(".html")) {
            files.push((format!("http://cacm.test/{name}"), text));
        }
        at += 512 + size.next_multiple_of(512);
    }
    files
}

fn topics(text: &str) -> HashMap<u32, String> {
    let topic = |part: &str| {
        let (number, words) = part.split_once("</DOCNO>")?;
        let words = words.split("</DOC>").next()?;
        Some((number.trim().parse().ok()?, words.to_owned()))
    };
    text.split("<DOCNO>").filter_map(topic).collect()
}

fn judgements(text: &str) -> HashMap<u32, HashSet<String>> {
    let mut judged: HashMap<u32, HashSet<String>> = HashMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [topic, _, page, "1"] = words[..] {
            judged.entry(topic.parse().unwrap()).or_default().insert(page.to_owned());
        }
    }
    judged
}
