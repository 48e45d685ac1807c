//! Who answers a query? DataFusion, with a limit on memory; what does not fit goes to a folder on the disk.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::common::TableReference;
use datafusion::datasource::empty::EmptyTable;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::error::DataFusionError;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{SQLOptions, SessionConfig, SessionContext};

use crate::answer::Answer;
use crate::error::{Error, Result};
use crate::open_files::OpenFiles;
use crate::query::Query;
use crate::table::{ANALYSIS_TABLES, Table};
use crate::wrong_query;

/// What an answer may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineSettings {
    /// Memory for sorting, joining and grouping.
    pub memory_bytes: u64,
    /// Threads.
    pub cores: usize,
    /// Where it puts what does not fit. It is the caller's to remove, for answers that are dropped may still be at it.
    pub spill_folder: PathBuf,
}

/// Answers queries about the tables it was given.
pub struct Engine {
    context: SessionContext,
    folder: PathBuf,
    memory_bytes: u64,
    tables: Vec<String>,
}

/// The name by which the engine knows the open files; nothing outside ever sees it.
const FILES: &str = "weir://tables";
/// With less than this not even a sort that spills can begin.
const LEAST_MEMORY_BYTES: u64 = 64 << 20;

impl Engine {
    /// Makes ready to answer about these tables of a collection.
    pub async fn open(folder: &Path, tables: Vec<Table>, settings: EngineSettings) -> Result<Engine> {
        let memory_bytes = settings.memory_bytes.max(LEAST_MEMORY_BYTES);
        let context = context(memory_bytes, settings).map_err(failed)?;
        let names = tables.iter().map(|table| table.name.clone()).collect();
        register(&context, tables).await?;
        Ok(Engine { context, folder: folder.to_owned(), memory_bytes, tables: names })
    }

    /// Begins to answer a query.
    pub async fn ask(&self, query: &Query) -> Result<Answer> {
        self.check_tables(query)?;
        let plan = self.context.state().statement_to_plan(query.statement.clone()).await;
        let plan = plan.map_err(|error| wrong_query::of(&error))?;
        let only_queries =
            SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
        only_queries.verify_plan(&plan).map_err(|_| query.refused())?;
        let answer = self.context.execute_logical_plan(plan).await;
        let stream = answer.map_err(|error| wrong_query::of(&error))?.execute_stream().await;
        let memory_bytes = self.memory_bytes;
        stream
            .map(|stream| Answer::new(stream, memory_bytes))
            .map_err(|error| wrong_query::of_answer(&error, memory_bytes))
    }

    /// A table that is missing is told by us, who know where tables come from.
    fn check_tables(&self, query: &Query) -> Result<()> {
        let state = self.context.state();
        let named = state.resolve_table_references(&query.statement);
        for reference in named.map_err(|error| wrong_query::of(&error))? {
            let table = reference.table();
            let is_ours = reference.schema().is_none()
                && !self.tables.iter().any(|known| known == table)
                && !state.table_functions().contains_key(table);
            if is_ours {
                return Err(self.missing(table));
            }
        }
        Ok(())
    }

    fn missing(&self, table: &str) -> Error {
        let table = table.to_owned();
        if ANALYSIS_TABLES.contains(&table.as_str()) {
            return Error::NotAnalysed { table, folder: self.folder.clone() };
        }
        Error::NoTable { table, known: self.tables.join(", ") }
    }
}

fn context(memory_bytes: u64, settings: EngineSettings) -> datafusion::error::Result<SessionContext> {
    let memory = usize::try_from(memory_bytes).unwrap_or(usize::MAX);
    let cores = settings.cores.max(1);
    let disk =
        DiskManagerBuilder::default().with_mode(DiskManagerMode::Directories(vec![settings.spill_folder]));
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(FairSpillPool::new(memory)))
        .with_disk_manager_builder(disk)
        .build_arc()?;
    let mut config = SessionConfig::new()
        .with_target_partitions(cores)
        .with_information_schema(true)
        // What every sort sets aside to merge what it has spilled.
        .with_sort_spill_reservation_bytes(memory / 16 / cores);
    let parser = &mut config.options_mut().sql_parser;
    // So that errors know their place.
    parser.collect_spans = true;
    // As in DuckDB, whichever way is up.
    parser.default_null_ordering = "nulls_last".to_owned();
    Ok(SessionContext::new_with_config_rt(config, runtime))
}

async fn register(context: &SessionContext, tables: Vec<Table>) -> Result<()> {
    let files = OpenFiles::new(&tables)?;
    let url = ObjectStoreUrl::parse(FILES).map_err(failed)?;
    context.register_object_store(url.as_ref(), Arc::new(files));
    for (number, table) in tables.into_iter().enumerate() {
        let name = TableReference::bare(table.name);
        let registered = if table.files.is_empty() {
            context.register_table(name, Arc::new(EmptyTable::new(table.schema)))
        } else {
            let listing = listing(context, number).await.map_err(failed)?;
            context.register_table(name, Arc::new(listing))
        };
        registered.map_err(failed)?;
    }
    Ok(())
}

/// The table of all files below a number.
async fn listing(context: &SessionContext, number: usize) -> datafusion::error::Result<ListingTable> {
    let url = ListingTableUrl::parse(format!("{FILES}/{number}/"))?;
    let options = ListingOptions::new(Arc::new(ParquetFormat::default()));
    let schema = options.infer_schema(&context.state(), &url).await?;
    ListingTable::try_new(ListingTableConfig::new(url).with_listing_options(options).with_schema(schema))
}

#[expect(clippy::needless_pass_by_value, reason = "the form that map_err takes")]
fn failed(error: DataFusionError) -> Error {
    Error::Engine { reason: wrong_query::sentence(&error) }
}
