//! Handlers: several over one stream, recoverable and fatal errors, resumed runs.

use std::path::Path;
use std::time::Duration;

use store::{PageStreamRequest, Snapshot};
use stream::{Handler, HandlerError, HandlerRun, OutputColumn, PageView};

use super::sample;

const PAGES: usize = 60;

/// Handler that records its calls, and fails at a given page.
#[derive(Default)]
struct Recorder {
    pages: Vec<u32>,
    calls: Vec<&'static str>,
    /// Page at which it fails, `times` times.
    fails_at: Option<u32>,
    times: u32,
    fatally: bool,
}

impl Handler for Recorder {
    fn columns(&self) -> &[OutputColumn] {
        &[OutputColumn::Title]
    }

    fn init(&mut self) -> Result<(), HandlerError> {
        self.calls.push("init");
        Ok(())
    }

    fn process(&mut self, page: &PageView<'_>) -> Result<(), HandlerError> {
        let number = page.page.page.0;
        assert_eq!(page.document.unwrap().title, format!("Page {number}"));
        if self.fails_at == Some(number) && self.times > 0 {
            self.times -= 1;
            let error = format!("page {number} failed");
            return Err(if self.fatally {
                HandlerError::Fatal(error)
            } else {
                HandlerError::Recoverable(error)
            });
        }
        self.pages.push(number);
        Ok(())
    }

    fn finish(&mut self) -> Result<(), HandlerError> {
        self.calls.push("finish");
        Ok(())
    }
}

fn run(dir: &Path, handlers: Vec<(&str, &mut Recorder)>, checkpoint: bool) -> stream::HandlerRunSummary {
    let snapshot = Snapshot::open(dir, None).unwrap();
    let mut run = HandlerRun::new();
    (run.initial_back_off, run.checkpoint_pages) = (Duration::ZERO, 7);
    run.checkpoint = checkpoint.then(|| dir.join("cursors"));
    handlers.into_iter().for_each(|(name, handler)| run.add(name, handler));
    run.run(&snapshot, &PageStreamRequest::default()).unwrap()
}

#[test]
fn all_handlers_get_all_pages_in_order() {
    let dir = tempfile::tempdir().unwrap();
    sample::make(dir.path(), PAGES);
    let (mut a, mut b) = (Recorder::default(), Recorder::default());
    let summary = run(dir.path(), vec![("a", &mut a), ("b", &mut b)], false);
    assert_eq!((summary.pages, summary.stopped_handlers.len()), (PAGES as u64, 0));
    for recorder in [a, b] {
        assert!(recorder.pages.into_iter().eq(0..PAGES as u32));
        assert_eq!(recorder.calls, ["init", "finish"]);
    }
}

#[test]
fn a_recoverable_error_is_retried_and_a_fatal_one_stops_only_its_handler() {
    let dir = tempfile::tempdir().unwrap();
    sample::make(dir.path(), PAGES);
    let mut recovering = Recorder { fails_at: Some(20), times: 3, ..Recorder::default() };
    let mut failing = Recorder { fails_at: Some(30), times: 100, ..Recorder::default() };
    let mut fatal = Recorder { fails_at: Some(40), times: 1, fatally: true, ..Recorder::default() };
    let handlers = vec![("recovering", &mut recovering), ("failing", &mut failing), ("fatal", &mut fatal)];
    let summary = run(dir.path(), handlers, false);
    assert!(recovering.pages.into_iter().eq(0..PAGES as u32));
    assert_eq!((failing.pages.len(), fatal.pages.len()), (30, 40));
    assert_eq!(
        (failing.times, fatal.calls),
        (94, vec!["init"]),
        "one attempt and five retries; finish is not called"
    );
    let stopped: Vec<(&str, &str)> = summary
        .stopped_handlers
        .iter()
        .map(|stopped| (stopped.name.as_str(), stopped.error.as_str()))
        .collect();
    assert_eq!(stopped, [("failing", "page 30 failed"), ("fatal", "page 40 failed")]);
}

#[test]
fn a_later_run_resumes_each_handler_at_its_cursor() {
    let dir = tempfile::tempdir().unwrap();
    sample::make(dir.path(), PAGES);
    let mut good = Recorder::default();
    let mut bad = Recorder { fails_at: Some(40), times: 1, fatally: true, ..Recorder::default() };
    run(dir.path(), vec![("good", &mut good), ("bad", &mut bad)], true);
    assert_eq!((good.pages.len(), bad.pages.len()), (60, 40));
    let summary = run(dir.path(), vec![("good", &mut good), ("bad", &mut bad)], true);
    assert_eq!(summary.pages, 20, "pages before all cursors are not read again");
    for recorder in [good, bad] {
        assert!(recorder.pages.into_iter().eq(0..PAGES as u32));
    }
    assert!(!dir.path().join("cursors").exists(), "the checkpoint is removed at the end");
}
