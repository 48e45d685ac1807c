//! Ranking quality on two test collections: CACM (3,204 abstracts without titles, 52 topics with judgements) and Cranfield (1,400 abstracts
//! with titles, 225 topics). Mean average precision of BM25 with k1 1.2, b 0.75, stems and stop words: 0.3241 and 0.306.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use search::{LinkMatches, Query, SearchOptions};

use crate::sample::{Page, Sample, path, settings};

/// Number of evaluated hits per topic.
const DEPTH: usize = 200;

/// Documents as URL and HTML, topics, and the relevant documents of each topic.
struct TestCollection {
    pages: Vec<(String, String)>,
    topics: HashMap<u32, String>,
    relevant: HashMap<u32, HashSet<String>>,
}

#[test]
fn the_ranking_of_cacm_is_better_than_published_results() {
    let Some(dir) = testkit::shared_data("search") else { return };
    let cacm = cacm(&dir);
    assert_eq!((cacm.pages.len(), cacm.relevant.len()), (3_204, 52));
    let (map, ndcg) = evaluate(&cacm);
    eprintln!("CACM: MAP {map:.4}, nDCG {ndcg:.4}");
    assert!(map >= 0.34, "{map}");
}

#[test]
fn the_ranking_of_cranfield_is_better_than_published_results() {
    let Some(dir) = testkit::shared_data("search") else { return };
    let cranfield = cranfield(&dir);
    assert_eq!((cranfield.pages.len(), cranfield.relevant.len()), (1_400, 225));
    let (map, ndcg) = evaluate(&cranfield);
    eprintln!("Cranfield: MAP {map:.4}, nDCG {ndcg:.4}");
    assert!(map >= 0.325, "{map}");
}

/// Mean average precision and normalized discounted cumulative gain of plain-text queries.
fn evaluate(collection: &TestCollection) -> (f64, f64) {
    let pages: Vec<Page<'_>> = collection
        .pages
        .iter()
        .map(|(url, body)| Page { url, head: "Content-Type: text/html\r\n", body, depth: 0 })
        .collect();
    let sample = Sample::of_pages(&pages, &settings());
    let options =
        SearchOptions { limit: DEPTH, collapse: false, excerpts: false, ..SearchOptions::default() };
    let (mut precision, mut gain) = (0.0, 0.0);
    for (topic, relevant) in &collection.relevant {
        let query = Query::any_word(&collection.topics[topic]).unwrap();
        let result = sample.searcher.search(&query, &LinkMatches::default(), &options).unwrap();
        let found: Vec<String> = result.hits.iter().map(|hit| path(&hit.url)[1..].to_owned()).collect();
        precision += average_precision(&found, relevant);
        gain += discounted_gain(&found, relevant);
    }
    let topics = collection.relevant.len() as f64;
    (precision / topics, gain / topics)
}

fn cacm(dir: &Path) -> TestCollection {
    let read = |name: &str| fs::read_to_string(dir.join(name)).unwrap();
    TestCollection {
        pages: unpack(&fs::read(dir.join("cacm.tar.gz")).unwrap()),
        topics: topics(&read("topics.cacm.txt")),
        relevant: judgements(&read("qrels.cacm.txt")),
    }
}

/// The judgements count the topics by their order in the file.
fn cranfield(dir: &Path) -> TestCollection {
    let mut documents = String::new();
    let archive = fs::read(dir.join("cranfield.docs.xml.gz")).unwrap();
    GzDecoder::new(&*archive).read_to_string(&mut documents).unwrap();
    let page = |document: &str| {
        let (title, text) = (element(document, "title"), element(document, "text"));
        let html = format!("<html><title>{title}</title><body>{text}</body></html>");
        (format!("http://cranfield.test/{}", element(document, "docno").trim()), html)
    };
    let read = |name: &str| fs::read_to_string(dir.join(name)).unwrap();
    let topics = read("topics.cranfield.xml");
    TestCollection {
        pages: documents.split("<doc>").skip(1).map(page).collect(),
        topics: (1..)
            .zip(topics.split("<top>").skip(1).map(|topic| element(topic, "title").to_owned()))
            .collect(),
        relevant: judgements(&read("qrels.cranfield.txt")),
    }
}

/// Content of the first element of a name; empty if there is none.
fn element<'t>(text: &'t str, name: &str) -> &'t str {
    let inner =
        text.split_once(&format!("<{name}>")).and_then(|(_, rest)| rest.split_once(&format!("</{name}>")));
    inner.map_or("", |(inner, _)| inner)
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
        if let [topic, _, page, grade] = words[..]
            && grade != "0"
        {
            judged.entry(topic.parse().unwrap()).or_default().insert(page.to_owned());
        }
    }
    judged
}
