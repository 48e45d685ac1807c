//! What does a user write to study all pages? A handler: something to do at first, with every page, and at last.

use crate::form::Column;
use crate::page_view::PageView;

/// Something that is to be done with every page of a stream. Several do their work side by side, over one stream.
///
/// ```
/// use stream::{Column, Handler, HandlerError, PageView};
///
/// /// Counts pages by their language.
/// #[derive(Default)]
/// struct Languages(std::collections::BTreeMap<&'static str, u64>);
///
/// impl Handler for Languages {
///     fn columns(&self) -> &[Column] {
///         &[Column::Language]
///     }
///
///     fn process(&mut self, page: &PageView<'_>) -> Result<(), HandlerError> {
///         *self.0.entry(page.language().unwrap_or("none")).or_default() += 1;
///         Ok(())
///     }
/// }
/// ```
pub trait Handler {
    /// What it wants to know of a page; without columns of the document, pages are not parsed.
    fn columns(&self) -> &[Column] {
        &Column::DEFAULT
    }

    /// Before the first page.
    fn init(&mut self) -> Result<(), HandlerError> {
        Ok(())
    }

    /// A page; the same one again after a recoverable error.
    fn process(&mut self, page: &PageView<'_>) -> Result<(), HandlerError>;

    /// Before the position is noted from which a later run goes on: what was made of the pages so far should be safe.
    fn checkpoint(&mut self) -> Result<(), HandlerError> {
        Ok(())
    }

    /// Behind the last page.
    fn finish(&mut self) -> Result<(), HandlerError> {
        Ok(())
    }
}

/// Why a handler could not do its work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HandlerError {
    /// It may go better the next time: a network that is down, a disk that is full.
    #[error("{0}")]
    Recoverable(String),
    /// It will not: the handler is done, others go on.
    #[error("{0}")]
    Fatal(String),
}
