//! Worker processes on this machine, started by the crawl and restarted when they crash.

use std::io::{self, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Context;

/// Worker processes; dropping this value stops them.
pub(crate) struct LocalWorkers {
    shutdown: Option<Sender<()>>,
    supervisor: Option<JoinHandle<()>>,
}

/// Interval at which the supervisor looks for workers that have exited.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Time that the workers have to exit after the crawl. A worker that is killed then loses nothing: its batches are leased
/// to others, or to the next crawl.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);

impl LocalWorkers {
    /// Starts `count` workers for a collection.
    pub(crate) fn start(collection: &Path, count: u16) -> anyhow::Result<LocalWorkers> {
        let program =
            std::env::current_exe().context("cannot start workers: the path of this program is unknown")?;
        let collection = collection.to_owned();
        let spawn = move |index: u16| -> io::Result<Child> {
            Command::new(&program)
                .arg("worker")
                .args(["--json", "--name", &format!("local-{index}"), "--local"])
                .arg(&collection)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .spawn()
        };
        let mut children = Vec::new();
        for index in 1..=count {
            children.push((index, spawn(index).context("cannot start a worker")?));
        }
        let (shutdown, is_shut_down) = channel();
        let supervise = move || {
            while let Err(RecvTimeoutError::Timeout) = is_shut_down.recv_timeout(POLL_INTERVAL) {
                for (index, child) in &mut children {
                    // Exit codes 0 and 130 are intended; a failed restart is tried again at the next poll.
                    if let Ok(Some(status)) = child.try_wait()
                        && !matches!(status.code(), Some(0 | 130))
                        && let Ok(new) = spawn(*index)
                    {
                        // A closed stderr must not end the crawl.
                        let _ = writeln!(
                            io::stderr(),
                            "weir: worker local-{index} exited ({status}); restarting"
                        );
                        *child = new;
                    }
                }
            }
            wait_for_exit(children);
        };
        let supervisor = thread::Builder::new().name("local workers".to_owned()).spawn(supervise)?;
        Ok(LocalWorkers { shutdown: Some(shutdown), supervisor: Some(supervisor) })
    }
}

/// Waits for workers, which exit at the end of the crawl; kills those that do not.
fn wait_for_exit(mut children: Vec<(u16, Child)>) {
    let start = Instant::now();
    while start.elapsed() < EXIT_TIMEOUT
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
        drop(self.shutdown.take());
        if let Some(supervisor) = self.supervisor.take() {
            // A panic of the thread has been printed by the panic hook.
            let _ = supervisor.join();
        }
    }
}
