//! Reads any bytes as a WARC or ARC file, as a package, as a single record and as gzip members: blocks are within the file, and an
//! archive has an end.
#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use warc::{GzipMembers, WarcReader, WarcRecord, gunzip, header_value, list_package, status};

/// File for the bytes of the current input; `fuzz/run` has its temporary files in memory.
static FILE: LazyLock<PathBuf> =
    LazyLock::new(|| std::env::temp_dir().join(format!("weir-fuzz-{}.warc", std::process::id())));

fn check(record: &WarcRecord) {
    let (head, payload, block) = (record.head(), record.payload(), record.block());
    assert_eq!(head.len() + payload.len(), block.len());
    assert!(record.body().len() <= payload.len());
    status(head);
    header_value(head, "Content-Encoding");
    record.truncated();
    record.header.url();
    record.header.warc_type();
    record.verify();
}

fuzz_target!(|data: &[u8]| {
    if let Ok(record) = WarcRecord::parse(data.to_vec()) {
        check(&record);
    }
    if let Ok(member) = gunzip(data, &FILE, 0) {
        WarcRecord::parse(member).iter().for_each(check);
    }
    fs::write(&*FILE, data).expect("the temporary directory is writable");
    if let Ok(reader) = WarcReader::open(&FILE) {
        let mut items = 0;
        for record in reader {
            items += 1;
            assert!(
                items <= 2 * data.len() * 1_100,
                "each item takes at least a byte of the decompressed file"
            );
            record.iter().for_each(check);
        }
    }
    if let Ok(Some(archives)) = list_package(&FILE) {
        for reader in archives.iter().filter_map(|archive| archive.open().ok()) {
            reader.flatten().for_each(|record| check(&record));
        }
    }
    let file = fs::File::open(&*FILE).expect("the file was written");
    let mut end = 0;
    for member in GzipMembers::new(&file, &FILE, 0, data.len() as u64) {
        let Ok(member) = member else { break };
        assert!(member.offset == end && member.length > 0);
        end += member.length;
        assert!(end <= data.len() as u64);
    }
});
