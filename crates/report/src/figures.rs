//! The built-in figures: one file each in `figures/`, in the order of the report.

use crate::error::Result;
use crate::figure::Figure;

macro_rules! files {
    ($($section:literal: $($name:literal)*;)*) => {
        &[$($(($name, include_str!(concat!("../figures/", $section, "/", $name, ".toml"))),)*)*]
    };
}

/// Names and contents of the files, in the order of the report.
#[rustfmt::skip]
const FIGURE_FILES: &[(&str, &str)] = files! {
    "summary":
        "summary";
    "pages":
        "status-codes" "mime-types" "languages" "charsets" "page-size" "text-length" "words"
        "title-length" "url-length" "page-age" "depth" "protocols" "static-dynamic"
        "technologies" "duplicates" "duplicate-groups" "near-duplicate-groups";
    "links":
        "in-degree" "out-degree" "depth-in-degree" "pagerank" "link-rank" "hub" "authority"
        "broken-links" "rejected-link-reasons" "out-of-scope-domains" "out-of-scope-tlds"
        "linked-files" "file-extensions";
    "sites":
        "largest-sites" "site-pages" "site-fetched" "site-bytes" "site-links" "site-in-degree"
        "site-out-degree" "site-age-mean" "site-age-min" "site-age-max" "site-depth" "servers"
        "site-protocols" "http-versions" "robots" "site-latency" "site-speed";
    "domains":
        "tlds" "tld-table" "domain-sites" "domain-pages" "top-domains";
    "structure":
        "structure-pages" "structure-pages-parts" "structure-sites" "structure-sites-parts"
        "component-size";
    "ranking":
        "top-pages" "top-linked" "top-authorities" "top-hubs" "top-sites" "site-rank"
        "site-harmonic" "diversity";
    "change":
        "fetches-per-page" "changes" "change-rates";
    "crawl":
        "stages" "reasons" "fetches-over-time" "bytes-over-time";
};

/// All built-in figures, in the order of the report.
pub fn figures() -> Result<Vec<Figure>> {
    FIGURE_FILES.iter().map(|(name, text)| Figure::parse(name, text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn every_file_is_a_figure_in_the_directory_of_its_section() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("figures");
        let mut files = BTreeSet::new();
        for section in std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap()) {
            let names = std::fs::read_dir(section.path()).unwrap().map(|entry| entry.unwrap().file_name());
            let section = section.file_name().into_string().unwrap();
            files.extend(names.map(|name| format!("{section}/{}", name.to_str().unwrap())));
        }
        let figures = figures().unwrap();
        let path = |figure: &Figure| format!("{}/{}.toml", figure.section.id(), figure.name);
        assert_eq!(files, figures.iter().map(path).collect());
        assert!(figures.is_sorted_by_key(|figure| figure.section));
    }

    #[test]
    fn captions_end_with_a_full_stop() {
        for figure in figures().unwrap() {
            for sentence in figure.caption.iter().chain([&figure.empty]) {
                assert!(sentence.ends_with('.'), "{}: {sentence}", figure.name);
            }
        }
    }
}
