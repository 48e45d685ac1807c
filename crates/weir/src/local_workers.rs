//! Who starts workers on this machine? The crawl itself: processes of the same program, which are started again when they die.

use std::io::{self, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Context;

/// Worker processes, until this is dropped.
pub(crate) struct LocalWorkers {
    over: Option<Sender<()>>,
    keeper: Option<JoinHandle<()>>,
}

/// How often to look whether one has died.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// What they have is not lost if they are killed then: others, or the next crawl, go on with it.
const LAST_WAIT: Duration = Duration::from_secs(10);

impl LocalWorkers {
    /// Starts so many for a collection.
    pub(crate) fn start(collection: &Path, count: u16) -> anyhow::Result<LocalWorkers> {
        let program = std::env::current_exe().context("cannot find this program to start workers")?;
        let collection = collection.to_owned();
        let begin = move |number: u16| -> io::Result<Child> {
            Command::new(&program)
                .arg("worker")
                .args(["--json", "--name", &format!("local-{number}"), "--for"])
                .arg(&collection)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .spawn()
        };
        let mut children = Vec::new();
        for number in 1..=count {
            children.push((number, begin(number).context("cannot start a worker")?));
        }
        let (over, is_over) = channel();
        let keep = move || {
            while let Err(RecvTimeoutError::Timeout) = is_over.recv_timeout(LOOK_EVERY) {
                for (number, child) in &mut children {
                    // Who ended in order was told to; what cannot be started now may be later.
                    if let Ok(Some(status)) = child.try_wait()
                        && !matches!(status.code(), Some(0 | 130))
                        && let Ok(new) = begin(*number)
                    {
                        // Nobody reads what cannot be written.
                        let _ = writeln!(
                            io::stderr(),
                            "weir: worker local-{number} ended ({status}); it is started again"
                        );
                        *child = new;
                    }
                }
            }
            end(children);
        };
        let keeper = thread::Builder::new().name("local workers".to_owned()).spawn(keep)?;
        Ok(LocalWorkers { over: Some(over), keeper: Some(keeper) })
    }
}

/// Waits for those who know that it is over.
fn end(mut children: Vec<(u16, Child)>) {
    let began = Instant::now();
    while began.elapsed() < LAST_WAIT
        && children.iter_mut().any(|(_, child)| matches!(child.try_wait(), Ok(None)))
    {
        thread::sleep(Duration::from_millis(20));
    }
    for (_, child) in &mut children {
        if let Ok(None) = child.try_wait() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for LocalWorkers {
    fn drop(&mut self) {
        drop(self.over.take());
        if let Some(keeper) = self.keeper.take() {
            // Its panic has been told already.
            let _ = keeper.join();
        }
    }
}
