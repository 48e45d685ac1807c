//! Where is everything that was crawled, and what survives a power cut?
//!
//! A collection is a folder of immutable files and of files that only grow, all named in a [`Manifest`]. A commit
//! writes and syncs files, then puts a new manifest in place; so a snapshot is a manifest, a crash loses only what was
//! not committed, and a reader needs no lock.
//!
//! This crate never knows HTTP or HTML: it keeps what others have understood.

mod blocks;
mod cdxj;
mod check;
mod collection;
mod directory;
mod error;
mod failpoint;
mod fields;
mod frames;
mod growing;
mod layout;
mod link_log;
mod manifest;
mod page_set;
mod page_state;
mod page_store;
mod page_stream;
mod parallel;
mod ranks;
mod records;
mod site_state;
mod snapshot;
mod statistics;
mod tables;
mod tiers;
mod url_table;
mod varint;
mod warc;
mod whole_file;

pub use cdxj::cdx_key;
pub use check::{Affects, CheckEvent, CheckReport, Damage, check};
pub use collection::{Collection, StoreSettings};
pub use error::{Error, Result};
pub use link_log::{Link, LinkLog, LinkLogReader};
pub use manifest::{Extent, FORMAT_VERSION, FileEntry, Manifest};
pub use page_set::PageSet;
pub use page_state::{Best, Column, PageFlags, PageRecord, PageState, PageStateReader, ScanRow, Stage, TopK};
pub use page_store::{
    Appended, Compacted, Compaction, IndexMerge, Keep, KeptVersion, MergedIndex, PageCheck, PageDamage,
    PageLocation, PageReader, PageSettings, PageStore, PageVersion, Relocations, StoredPage, Verify,
};
pub use page_stream::{
    PageOrder, PagePlace, PageStream, Part, Position, Predicate, Selection, SiteSet, StreamRequest, Streamed,
    WrongPredicate,
};
pub use ranks::{RankColumn, RankEntry, RankValue, Ranked, list_ranks, write_ranks};
pub use site_state::{SiteRecord, SiteState, SiteStateReader};
pub use snapshot::{
    SNAPSHOT_NAME_LIMIT_BYTES, Snapshot, SnapshotEntry, find_snapshot, keep_snapshot, list_snapshots,
    pin_snapshot, unpin_snapshot,
};
pub use statistics::{PowerLaw, Statistic, Value, read_statistics, read_statistics_of, write_statistics};
pub use tables::{
    AnchorRow, AnchorRows, ComponentRow, ComponentRows, DerivedEntry, DerivedTable, DocumentRow,
    DocumentRows, DomainRow, DomainRows, FetchRow, FetchRows, FileRow, FileRows, InLink, LastParses, LinkRow,
    LinkRows, OutsideRow, OutsideRows, PageRow, PageRows, RankRow, RankRows, Rows, SiteRankRow, SiteRankRows,
    SiteRow, SiteRows, Table, TableBatch, TableFiles, TableReader, Tables, Visit, count_rows,
    for_each_duration, links_outside, links_to, list_derived, list_tables, visits_of,
};
pub use url_table::{NewPage, Resolved, UrlBatch, UrlReader, UrlTable};
pub use warc::{
    Capture, DigestVerdict, Prepared, PreparedLabel, Preparer, Truncated, WarcError, WarcHeader, WarcKind,
    WarcReader, WarcRecord,
};
