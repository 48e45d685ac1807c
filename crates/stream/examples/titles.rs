//! Titles of all pages, the simplest handler: `cargo run -p stream --example titles -- DIR`.
#![allow(clippy::print_stdout, reason = "the result of the program")]

use std::error::Error;
use std::path::PathBuf;

use store::{PageStreamRequest, Snapshot};
use stream::{Handler, HandlerError, HandlerRun, OutputColumn, PageView};

struct Titles;

impl Handler for Titles {
    fn columns(&self) -> &[OutputColumn] {
        &[OutputColumn::Title]
    }

    fn process(&mut self, page: &PageView<'_>) -> Result<(), HandlerError> {
        if let Some(document) = page.document {
            println!("{}\t{}", page.stored.url(), document.title);
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let dir = PathBuf::from(std::env::args().nth(1).ok_or("usage: titles DIR")?);
    let mut run = HandlerRun::new();
    let mut titles = Titles;
    run.add("titles", &mut titles);
    run.run(&Snapshot::open(&dir, None)?, &PageStreamRequest::default())?;
    Ok(())
}
