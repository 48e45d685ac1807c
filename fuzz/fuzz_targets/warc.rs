//! Reads any bytes as a WARC file, as a single record and as gzip members: blocks are within the file, and an archive ends
//! with at most one error.
#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use warc::{GzipMembers, WarcReader, WarcRecord, gunzip, header_value, status};

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
        let mut errors = 0;
        for record in reader {
            assert_eq!(errors, 0, "a record after an error");
            match record {
                Ok(record) => check(&record),
                Err(_) => errors += 1,
            }
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
