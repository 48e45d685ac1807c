//! Interface of user code that processes each page of a stream.

use crate::page_view::PageView;
use crate::query::output::OutputColumn;

/// Processor of the pages of a stream. Several handlers share one stream.
///
/// ```
/// use stream::{Handler, HandlerError, OutputColumn, PageView};
///
/// /// Counts pages by their language.
/// #[derive(Default)]
/// struct Languages(std::collections::BTreeMap<&'static str, u64>);
///
/// impl Handler for Languages {
///     fn columns(&self) -> &[OutputColumn] {
///         &[OutputColumn::Language]
///     }
///
///     fn process(&mut self, page: &PageView<'_>) -> Result<(), HandlerError> {
///         *self.0.entry(page.language().unwrap_or("none")).or_default() += 1;
///         Ok(())
///     }
/// }
/// ```
pub trait Handler {
    /// Columns that the handler reads; pages are parsed only if one of them needs it.
    fn columns(&self) -> &[OutputColumn] {
        &OutputColumn::DEFAULT
    }

    /// Called before the first page.
    fn init(&mut self) -> Result<(), HandlerError> {
        Ok(())
    }

    /// Processes a page; called again with the same page after a recoverable error.
    fn process(&mut self, page: &PageView<'_>) -> Result<(), HandlerError>;

    /// Called before the cursor of the handler is saved: the results so far should be made durable.
    fn checkpoint(&mut self) -> Result<(), HandlerError> {
        Ok(())
    }

    /// Called after the last page.
    fn finish(&mut self) -> Result<(), HandlerError> {
        Ok(())
    }
}

/// Error of a handler.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HandlerError {
    /// A retry may succeed, for example after a network failure.
    #[error("{0}")]
    Recoverable(String),
    /// No retry can succeed: the handler is stopped, the others continue.
    #[error("{0}")]
    Fatal(String),
}
