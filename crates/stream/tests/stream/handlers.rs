//! Handlers: several over one stream, errors that pass and errors that do not, and runs that go on later.

use std::path::Path;
use std::time::Duration;

use store::{Snapshot, StreamRequest};
use stream::{Column, Handler, HandlerError, HandlerRun, PageView};

use super::sample;

const PAGES: usize = 60;

/// Notes what it sees, and fails when it is told to.
#[derive(Default)]
struct Notes {
    pages: Vec<u32>,
    calls: Vec<&'static str>,
    /// Fails at this page, so often.
    fails_at: Option<u32>,
    times: u32,
    fatally: bool,
}

impl Handler for Notes {
    fn columns(&self) -> &[Column] {
        &[Column::Title]
    }

    fn init(&mut self) -> Result<(), HandlerError> {
        self.calls.push("init");
        Ok(())
    }

    fn process(&mut self, page: &PageView<'_>) -> Result<(), HandlerError> {
        let number = page.place.page.0;
        assert_eq!(page.document.unwrap().title, format!("Page {number}"));
        if self.fails_at == Some(number) && self.times > 0 {
            self.times -= 1;
            let why = format!("page {number} is too much");
            return Err(if self.fatally { HandlerError::Fatal(why) } else { HandlerError::Recoverable(why) });
        }
        self.pages.push(number);
        Ok(())
    }

    fn finish(&mut self) -> Result<(), HandlerError> {
        self.calls.push("finish");
        Ok(())
    }
}

fn run(folder: &Path, handlers: Vec<(&str, &mut Notes)>, checkpoint: bool) -> stream::RunSummary {
    let snapshot = Snapshot::open(folder, None).unwrap();
    let mut run = HandlerRun::new();
    (run.first_pause, run.checkpoint_pages) = (Duration::ZERO, 7);
    run.checkpoint = checkpoint.then(|| folder.join("positions"));
    handlers.into_iter().for_each(|(name, handler)| run.add(name, handler));
    run.run(&snapshot, &StreamRequest::default()).unwrap()
}

#[test]
fn all_handlers_see_all_pages_in_order() {
    let folder = tempfile::tempdir().unwrap();
    sample::make(folder.path(), PAGES);
    let (mut a, mut b) = (Notes::default(), Notes::default());
    let summary = run(folder.path(), vec![("a", &mut a), ("b", &mut b)], false);
    assert_eq!((summary.pages, summary.stopped.len()), (PAGES as u64, 0));
    for notes in [a, b] {
        assert!(notes.pages.into_iter().eq(0..PAGES as u32));
        assert_eq!(notes.calls, ["init", "finish"]);
    }
}

#[test]
fn a_recoverable_error_is_tried_again_and_a_fatal_one_stops_its_handler_alone() {
    let folder = tempfile::tempdir().unwrap();
    sample::make(folder.path(), PAGES);
    let mut patient = Notes { fails_at: Some(20), times: 3, ..Notes::default() };
    let mut hopeless = Notes { fails_at: Some(30), times: 100, ..Notes::default() };
    let mut fatal = Notes { fails_at: Some(40), times: 1, fatally: true, ..Notes::default() };
    let handlers = vec![("patient", &mut patient), ("hopeless", &mut hopeless), ("fatal", &mut fatal)];
    let summary = run(folder.path(), handlers, false);
    assert!(patient.pages.into_iter().eq(0..PAGES as u32));
    assert_eq!((hopeless.pages.len(), fatal.pages.len()), (30, 40));
    assert_eq!((hopeless.times, fatal.calls), (94, vec!["init"]), "once and five times more; never finished");
    let stopped: Vec<(&str, &str)> =
        summary.stopped.iter().map(|stopped| (stopped.name.as_str(), stopped.why.as_str())).collect();
    assert_eq!(stopped, [("hopeless", "page 30 is too much"), ("fatal", "page 40 is too much")]);
}

#[test]
fn a_later_run_goes_on_where_each_handler_was() {
    let folder = tempfile::tempdir().unwrap();
    sample::make(folder.path(), PAGES);
    let mut good = Notes::default();
    let mut bad = Notes { fails_at: Some(40), times: 1, fatally: true, ..Notes::default() };
    run(folder.path(), vec![("good", &mut good), ("bad", &mut bad)], true);
    assert_eq!((good.pages.len(), bad.pages.len()), (60, 40));
    let summary = run(folder.path(), vec![("good", &mut good), ("bad", &mut bad)], true);
    assert_eq!(summary.pages, 20, "what nobody needs is not read again");
    for notes in [good, bad] {
        assert!(notes.pages.into_iter().eq(0..PAGES as u32));
    }
    assert!(!folder.path().join("positions").exists(), "all is done");
}
