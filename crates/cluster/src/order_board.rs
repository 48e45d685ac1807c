//! What are the last orders? They are on a board in memory, which is kept up beside everything else: who looks at it waits for
//! nobody.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt;

use crate::ledger::Ledger;
use crate::link::{Failure, Link};

/// Without any sign of new orders they are looked up so often.
const LOOK_EVERY: Duration = Duration::from_secs(15);

/// The last orders that were heard of.
#[derive(Default)]
pub(crate) struct OrderBoard {
    /// With the number of their entry.
    last: Mutex<Option<(u64, Vec<u8>)>>,
}

impl OrderBoard {
    /// The last orders.
    pub(crate) fn read(&self) -> Option<Vec<u8>> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().map(|(_, orders)| orders.clone())
    }

    /// Puts up orders, unless later ones are there.
    pub(crate) fn put(&self, number: u64, orders: &[u8]) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref().is_none_or(|(there, _)| *there < number) {
            *last = Some((number, orders.to_vec()));
        }
    }

    /// Looks up the last orders.
    pub(crate) async fn refresh(&self, state: &Ledger, subject: &str) -> Result<(), Failure> {
        if let Some(entry) = state.last(subject).await? {
            self.put(entry.sequence, &entry.payload);
        }
        Ok(())
    }
}

/// Keeps a board up: new orders are a sign to look, a new connection is one, and time.
pub(crate) async fn keep_up(
    board: &Arc<OrderBoard>,
    link: &Link,
    state: Ledger,
    subject: String,
) -> Result<(), Failure> {
    let mut signs = link.client.subscribe(subject.clone()).await.map_err(Failure::again)?;
    board.refresh(&state, &subject).await?;
    let (board, mut changes) = (Arc::clone(board), link.changes());
    link.spawn(async move {
        loop {
            tokio::select! {
                sign = signs.next() => if sign.is_none() { return },
                change = changes.changed() => if change.is_err() { return },
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
            // A failure means that the broker is away: its return is a sign, and so is time.
            let _away = board.refresh(&state, &subject).await;
        }
    });
    Ok(())
}
