//! Parses any text as a manifest and the state of a crawl in it: names of files stay within the collection, and an encoded
//! manifest is decoded to itself.
//!
//! The input is the JSON of a manifest; its checksum is added here.
#![no_main]

use std::path::{Component, Path};

use crawl::CrawlState;
use libfuzzer_sys::fuzz_target;
use store::fuzzing::{decode_manifest, encode_manifest};
use xxhash_rust::xxh3::xxh3_64;

fuzz_target!(|text: &str| {
    assert!(text.contains("xxh3 ") || decode_manifest(text.as_bytes()).is_err());
    let signed = format!("{text}xxh3 {:016x}\n", xxh3_64(text.as_bytes()));
    let Ok(manifest) = decode_manifest(signed.as_bytes()) else { return };
    for file in &manifest.files {
        let path = Path::new(&file.name);
        assert!(path.components().all(|part| matches!(part, Component::Normal(_))), "{}", file.name);
        file.length();
    }
    let encoded = encode_manifest(&manifest).expect("a manifest is valid JSON");
    let again = decode_manifest(&encoded).expect("an encoded manifest can be decoded");
    assert_eq!(
        (again.generation, again.committed_ms, &again.files),
        (manifest.generation, manifest.committed_ms, &manifest.files)
    );
    // Fractions that no state has may be rounded.
    if let Ok(state) = CrawlState::from_manifest(&manifest) {
        assert!(state.shared_cash() >= 0.0);
        assert_eq!(CrawlState::from_manifest(&again).ok(), Some(state));
    }
});
