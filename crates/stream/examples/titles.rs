//! The titles of all pages, the simplest handler: `cargo run -p stream --example titles -- DIR`.
#![allow(clippy::print_stdout, reason = "it is its answer")]

use std::error::Error;
use std::path::PathBuf;

use store::{Snapshot, StreamRequest};
use stream::{Column, Handler, HandlerError, HandlerRun, PageView};

struct Titles;

impl Handler for Titles {
    fn columns(&self) -> &[Column] {
        &[Column::Title]
    }

    fn process(&mut self, page: &PageView<'_>) -> Result<(), HandlerError> {
        if let Some(document) = page.document {
            println!("{}\t{}", page.stored.url(), document.title);
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("give the folder of a collection")?);
    let mut run = HandlerRun::new();
    let mut titles = Titles;
    run.add("titles", &mut titles);
    run.run(&Snapshot::open(&folder, None)?, &StreamRequest::default())?;
    Ok(())
}
