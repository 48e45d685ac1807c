//! Storage engine of a crawl: collections on disk, with atomic commits and snapshots.
//!
//! A [`Collection`] is a directory of immutable and append-only files, all listed in a [`Manifest`]. A commit writes and
//! syncs files, then replaces the manifest atomically. A [`Snapshot`] is therefore a manifest, a crash loses only
//! uncommitted changes, and a reader needs no lock.
//!
//! This crate never knows HTML, nor HTTP beyond the stored heads: it stores what the crawl has parsed.

mod analysis;
mod cancellation;
mod check;
mod collection;
mod collection_dir;
mod disk;
mod error;
mod failpoint;
mod file;
mod file_list;
#[cfg(fuzzing)]
pub mod fuzzing;
mod layout;
mod links;
mod manifest;
mod outside_links;
mod page_set;
mod page_stream;
mod pages;
mod parallel;
mod snapshot;
mod state;
mod tables;
mod urls;

pub use analysis::ranks::{RankColumn, RankColumnInfo, RankTarget, RankValue, list_ranks, write_ranks};
pub use analysis::statistics::{
    PowerLaw, Statistic, StatisticValue, read_statistics, read_statistics_of, write_statistics,
};
pub use cancellation::{CancelOnDrop, Cancellation};
pub use check::{CheckEvent, CheckReport, Corruption, CorruptionScope, check};
pub use collection::{Collection, StoreSettings};
pub use disk::read_limited;
#[cfg(feature = "simulated_disk")]
pub use disk::simulated::{Fault, Random, SimulatedDisk};
pub use error::{Error, Result};
pub use file_list::FileList;
pub use layout::is_collection_entry;
pub use links::{Link, LinkLog, LinkLogReader};
pub use manifest::{Extent, FORMAT_VERSION, FileEntry, Manifest};
pub use outside_links::check_settings_file;
pub use page_set::PageSet;
pub use page_stream::{
    PageFilter, PageOrder, PageRef, PageStream, PageStreamItem, PageStreamRequest, Predicate, PredicateError,
    SiteSet, StreamCursor, StreamPartition,
};
pub use pages::{
    AppendResult, CdxjMerge, CdxjMergeResult, Compaction, CompactionResult, PageCorruption, PageStore,
    PageStoreCheck, PageStoreReader, PageStoreSettings, PageVersion, RecordLocation, Relocations,
    RetainedVersion, RetentionPolicy, StoredPage, VerifyLevel,
};
pub use snapshot::{
    MAX_SNAPSHOT_NAME_BYTES, Snapshot, SnapshotInfo, delete_snapshot, find_snapshot, list_snapshots,
    name_snapshot, pin_generation,
};
pub use state::page::{
    PageColumn, PageFlags, PageRecord, PageStage, PageState, PageStateReader, ScanRow, ScoredPage, TopK,
};
pub use state::site::{SiteRecord, SiteState, SiteStateReader};
pub use tables::{
    AnchorRow, AnchorRows, ComponentRow, ComponentRows, DerivedTable, DerivedTableInfo, DocumentRow,
    DocumentRows, DomainRow, DomainRows, FetchHistoryEntry, FetchRow, FetchRows, Inlink, LastParses, LinkRow,
    LinkRows, LinkedFileRow, LinkedFileRows, NewestRows, PageRow, PageRows, RankRow, RankRows,
    RejectedLinkRow, RejectedLinkRows, Rows, SiteLogRow, SiteLogRows, SiteRow, SiteRows, Table, TableBatch,
    TableInfo, TableReader, Tables, count_rows, fetch_history, for_each_response_time,
    for_each_unresolved_link, inlinks, list_derived, list_tables, read_parquet_metadata,
};
pub use urls::{NewPage, ResolvedBatch, UrlReader, UrlTable};
