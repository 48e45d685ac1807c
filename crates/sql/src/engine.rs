//! The query engine: DataFusion with a memory limit; larger intermediate results spill to a directory.

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

use crate::engine_error;
use crate::error::{Error, Result};
use crate::open_file_store::OpenFileStore;
use crate::query::Query;
use crate::query_result::QueryResult;
use crate::table::{ANALYSIS_TABLES, Table};

/// Resources of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineSettings {
    /// Memory limit for sorts, joins and groups.
    pub memory_bytes: u64,
    /// Number of threads.
    pub threads: usize,
    /// Directory for spilled data. The caller removes it, because dropped results may still use it.
    pub spill_dir: PathBuf,
}

/// Runs queries on the given tables.
pub struct Engine {
    context: SessionContext,
    collection: PathBuf,
    memory_bytes: u64,
    tables: Vec<String>,
}

/// Internal URL of the open files.
const STORE_URL: &str = "weir://tables";
/// Minimum with which a spilling sort can start.
const MIN_MEMORY_BYTES: u64 = 64 << 20;

impl Engine {
    /// Prepares the engine for these tables of a collection.
    pub async fn open(collection: &Path, tables: Vec<Table>, settings: EngineSettings) -> Result<Engine> {
        let memory_bytes = settings.memory_bytes.max(MIN_MEMORY_BYTES);
        let context = context(memory_bytes, settings).map_err(failed)?;
        let names = tables.iter().map(|table| table.name.clone()).collect();
        register(&context, tables).await?;
        Ok(Engine { context, collection: collection.to_owned(), memory_bytes, tables: names })
    }

    /// Starts a query.
    pub async fn run(&self, query: &Query) -> Result<QueryResult> {
        self.check_tables(query)?;
        let plan = self.context.state().statement_to_plan(query.statement.clone()).await;
        let plan = plan.map_err(|error| engine_error::planning_error(&error))?;
        let only_queries =
            SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
        only_queries.verify_plan(&plan).map_err(|_| query.not_a_query())?;
        let result = self.context.execute_logical_plan(plan).await;
        let stream = result.map_err(|error| engine_error::planning_error(&error))?.execute_stream().await;
        let memory_bytes = self.memory_bytes;
        stream
            .map(|stream| QueryResult::new(stream, memory_bytes))
            .map_err(|error| engine_error::execution_error(&error, memory_bytes))
    }

    /// Checks the tables of a query: the error for a missing one says how to create it.
    fn check_tables(&self, query: &Query) -> Result<()> {
        let state = self.context.state();
        let named = state.resolve_table_references(&query.statement);
        for reference in named.map_err(|error| engine_error::planning_error(&error))? {
            let table = reference.table();
            let is_missing = reference.schema().is_none()
                && !self.tables.iter().any(|known| known == table)
                && !state.table_functions().contains_key(table);
            if is_missing {
                return Err(self.missing(table));
            }
        }
        Ok(())
    }

    fn missing(&self, table: &str) -> Error {
        let table = table.to_owned();
        if ANALYSIS_TABLES.contains(&table.as_str()) {
            return Error::NotAnalysed { table, collection: self.collection.clone() };
        }
        Error::UnknownTable { table, known: self.tables.join(", ") }
    }
}

fn context(memory_bytes: u64, settings: EngineSettings) -> datafusion::error::Result<SessionContext> {
    let memory = usize::try_from(memory_bytes).unwrap_or(usize::MAX);
    let threads = settings.threads.max(1);
    let disk =
        DiskManagerBuilder::default().with_mode(DiskManagerMode::Directories(vec![settings.spill_dir]));
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(FairSpillPool::new(memory)))
        .with_disk_manager_builder(disk)
        .build_arc()?;
    let mut config = SessionConfig::new()
        .with_target_partitions(threads)
        .with_information_schema(true)
        // Memory that each sort reserves for merging spilled data.
        .with_sort_spill_reservation_bytes(memory / 16 / threads);
    let parser = &mut config.options_mut().sql_parser;
    // Errors then contain their position.
    parser.collect_spans = true;
    // Nulls last for ascending and descending order, as in DuckDB.
    parser.default_null_ordering = "nulls_last".to_owned();
    Ok(SessionContext::new_with_config_rt(config, runtime))
}

async fn register(context: &SessionContext, tables: Vec<Table>) -> Result<()> {
    let files = OpenFileStore::new(&tables)?;
    let url = ObjectStoreUrl::parse(STORE_URL).map_err(failed)?;
    context.register_object_store(url.as_ref(), Arc::new(files));
    for (index, table) in tables.into_iter().enumerate() {
        let name = TableReference::bare(table.name);
        let registered = if table.files.is_empty() {
            context.register_table(name, Arc::new(EmptyTable::new(table.schema)))
        } else {
            let listing = listing(context, index).await.map_err(failed)?;
            context.register_table(name, Arc::new(listing))
        };
        registered.map_err(failed)?;
    }
    Ok(())
}

/// The table of all files below an index.
async fn listing(context: &SessionContext, index: usize) -> datafusion::error::Result<ListingTable> {
    let url = ListingTableUrl::parse(format!("{STORE_URL}/{index}/"))?;
    let options = ListingOptions::new(Arc::new(ParquetFormat::default()));
    let schema = options.infer_schema(&context.state(), &url).await?;
    ListingTable::try_new(ListingTableConfig::new(url).with_listing_options(options).with_schema(schema))
}

#[expect(clippy::needless_pass_by_value, reason = "the signature that map_err needs")]
fn failed(error: DataFusionError) -> Error {
    Error::Engine { reason: engine_error::message(&error) }
}
