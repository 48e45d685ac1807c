//! Which figures are there? One file each in `figures/`, in the order of the report.

use crate::error::Result;
use crate::figure::Figure;

macro_rules! files {
    ($($name:literal)*) => { &[$(($name, include_str!(concat!("../figures/", $name, ".toml")))),*] };
}

/// Names and texts.
const FILES: &[(&str, &str)] = files! {
    "summary" "status-codes" "mime-types" "languages" "charsets" "page-size" "text-length" "words"
    "title-length" "url-length" "page-age" "depth" "protocols" "static-dynamic" "technologies"
    "duplicates" "duplicate-groups" "near-duplicate-groups" "in-degree" "out-degree"
    "depth-in-degree" "pagerank" "link-rank" "hub" "authority" "broken-links" "outside-reasons"
    "outside-domains" "outside-tlds" "linked-files" "file-extensions" "largest-sites" "site-pages"
    "site-fetched" "site-bytes" "site-links" "site-in-degree" "site-out-degree" "site-age-mean"
    "site-age-min" "site-age-max" "site-depth" "servers" "site-protocols" "http-versions" "robots"
    "site-latency" "site-speed" "tlds" "tld-table" "domain-sites" "domain-pages" "top-domains"
    "structure-pages" "structure-pages-parts" "structure-sites" "structure-sites-parts"
    "component-size" "top-pages" "top-linked" "top-authorities" "top-hubs" "top-sites" "site-rank"
    "site-harmonic" "diversity" "visits" "changes" "change-rates" "stages" "reasons"
    "fetches-over-time" "bytes-over-time"
};

/// All figures, in the order of the report.
pub fn catalogue() -> Result<Vec<Figure>> {
    FILES.iter().map(|(name, text)| Figure::parse(name, text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn every_file_is_a_figure_and_its_section_comes_after_the_last() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("figures");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let files: BTreeSet<String> = files.map(|name| name.into_string().unwrap()).collect();
        let figures = catalogue().unwrap();
        let known: BTreeSet<String> = figures.iter().map(|figure| format!("{}.toml", figure.name)).collect();
        assert_eq!(files, known);
        assert!(figures.is_sorted_by_key(|figure| figure.section));
    }

    #[test]
    fn every_figure_ends_its_sentences() {
        for figure in catalogue().unwrap() {
            for sentence in figure.caption.iter().chain([&figure.empty]) {
                assert!(sentence.ends_with('.'), "{}: {sentence}", figure.name);
            }
        }
    }
}
