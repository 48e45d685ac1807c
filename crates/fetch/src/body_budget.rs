//! Memory budget of the bodies in flight, shared by all fetchers of a process.
//!
//! A response reserves memory in steps: a small one when its head has arrived, then as much as it has already, up to its
//! `Content-Length` or the maximum size of a body. Servers that promise large bodies and send little therefore hold little.
//! While the budget is used up a response waits and reads nothing, so that TCP slows the server down. Without any memory it
//! waits as long as necessary; with some it waits for a limited time and is truncated then, because responses that hold
//! memory and wait for more could block each other.
//!
//! A body that arrives together with its head needs no reservation: it is at most as long as the read buffer.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::exchange_timer::ExchangeTimer;

/// Unit of reservations, so that their number fits the semaphore.
const UNIT_BYTES: usize = 1 << 10;
/// First reservation of a body: enough for nearly all pages.
const FIRST_STEP_BYTES: usize = 256 << 10;
/// Memory that must be reserved before a read: as much as a read buffer.
const READ_BYTES: usize = 64 << 10;
/// Maximum wait of a body for more memory. Most bodies are received and parsed in less.
const MAX_GROWTH_WAIT: Duration = Duration::from_secs(10);

/// Memory budget; clones share it.
#[derive(Debug, Clone)]
pub struct BodyBudget {
    units: Arc<Semaphore>,
    max_units: u32,
}

impl BodyBudget {
    /// Creates a budget.
    pub fn new(max_bytes: usize) -> BodyBudget {
        let max_units =
            units(max_bytes).max(1).min(u32::try_from(Semaphore::MAX_PERMITS).unwrap_or(u32::MAX));
        BodyBudget { units: Arc::new(Semaphore::new(max_units as usize)), max_units }
    }

    /// Extends the reservation of a body for the next read, after waiting for memory if necessary, in the order of the calls.
    /// The body has `bytes` now and `max_bytes` at most; one above the whole budget gets all of it. Returns false if the
    /// body must be truncated, because it holds memory and no more is released.
    pub(crate) async fn grow(
        &self,
        reservation: &mut BodyReservation,
        bytes: usize,
        max_bytes: usize,
        timer: &mut ExchangeTimer<'_>,
    ) -> bool {
        let missing = self.missing_units(reservation.units(), bytes, max_bytes);
        if missing == 0 {
            return true;
        }
        let acquire = Arc::clone(&self.units).acquire_many_owned(missing);
        let acquired = match reservation.units() {
            0 => timer.without_timeout(acquire).await,
            _ => match timer.without_timeout(timeout(MAX_GROWTH_WAIT, acquire)).await {
                Ok(acquired) => acquired,
                Err(_) => return false,
            },
        };
        // The semaphore is never closed.
        if let Ok(permit) = acquired {
            reservation.add(permit);
        }
        true
    }

    /// Number of units to add to a reservation of `held` units before the next read.
    fn missing_units(&self, held: u32, bytes: usize, max_bytes: usize) -> u32 {
        let needed = units(bytes.saturating_add(READ_BYTES).min(max_bytes)).min(self.max_units);
        if held >= needed {
            return 0;
        }
        let step = units(FIRST_STEP_BYTES).max(held.saturating_mul(2));
        step.min(units(max_bytes)).max(needed).min(self.max_units) - held
    }

    /// Memory that is not reserved.
    pub fn available_bytes(&self) -> usize {
        self.units.available_permits().saturating_mul(UNIT_BYTES)
    }
}

fn units(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT_BYTES)).unwrap_or(u32::MAX)
}

/// Reserved memory of a body, released when the last clone is dropped.
#[derive(Debug, Clone, Default)]
pub struct BodyReservation(Option<Arc<OwnedSemaphorePermit>>);

/// All are equal: a reservation does not distinguish two responses.
impl PartialEq for BodyReservation {
    fn eq(&self, _: &BodyReservation) -> bool {
        true
    }
}

impl Eq for BodyReservation {}

impl BodyReservation {
    fn units(&self) -> u32 {
        self.0.as_ref().map_or(0, |permit| u32::try_from(permit.num_permits()).unwrap_or(u32::MAX))
    }

    fn add(&mut self, permit: OwnedSemaphorePermit) {
        match self.0.as_mut().and_then(Arc::get_mut) {
            Some(own) => own.merge(permit),
            None => self.0 = Some(Arc::new(permit)),
        }
    }

    /// Releases the part of the reservation that a body of this size does not need.
    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        let Some(permit) = self.0.as_mut().and_then(Arc::get_mut) else { return };
        let surplus = permit.num_permits().saturating_sub(units(bytes) as usize);
        drop(permit.split(surplus));
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;
    use crate::settings::FetchSettings;

    #[tokio::test]
    async fn a_reservation_waits_until_others_are_released_or_shrunk() {
        let (budget, settings) = (BodyBudget::new(10 << 10), FetchSettings::default());
        let mut timers = [0, 1].map(|_| ExchangeTimer::start(&settings));
        let [first_timer, second_timer] = &mut timers;
        let (mut first, mut second) = (BodyReservation::default(), BodyReservation::default());
        assert!(budget.grow(&mut first, 0, 8 << 10, first_timer).await);
        {
            let mut context = Context::from_waker(Waker::noop());
            let mut growth = pin!(budget.grow(&mut second, 0, 5 << 10, second_timer));
            assert!(growth.as_mut().poll(&mut context).is_pending());
            first.shrink_to(4_000);
            assert_eq!(growth.as_mut().poll(&mut context), Poll::Ready(true));
        }
        assert_eq!(budget.available_bytes(), 1 << 10);
        drop((first, second));
        assert_eq!(budget.available_bytes(), 10 << 10);
    }

    #[tokio::test]
    async fn a_body_above_the_whole_budget_is_received_alone() {
        let (budget, settings) = (BodyBudget::new(10 << 10), FetchSettings::default());
        let mut all = BodyReservation::default();
        for bytes in [0, 1 << 20] {
            assert!(budget.grow(&mut all, bytes, 1 << 30, &mut ExchangeTimer::start(&settings)).await);
            assert_eq!(budget.available_bytes(), 0);
        }
        drop(all);
        assert_eq!(budget.available_bytes(), 10 << 10);
    }

    #[tokio::test]
    async fn a_body_that_does_not_grow_holds_only_the_first_step() {
        const BUDGET_BYTES: usize = 8 << 20;
        let (budget, settings) = (BodyBudget::new(BUDGET_BYTES), FetchSettings::default());
        let mut timer = ExchangeTimer::start(&settings);
        let mut body = BodyReservation::default();
        let mut held = Vec::new();
        for bytes in [0, 1, 200 << 10, 500 << 10, 900 << 10] {
            assert!(budget.grow(&mut body, bytes, 1 << 20, &mut timer).await);
            held.push((BUDGET_BYTES - budget.available_bytes()) >> 10);
        }
        assert_eq!(held, [256, 256, 512, 1_024, 1_024]);
    }

    #[tokio::test(start_paused = true)]
    async fn bodies_that_wait_for_more_memory_do_not_block_each_other() {
        let (budget, settings) = (BodyBudget::new(2 * FIRST_STEP_BYTES), FetchSettings::default());
        let mut timers = [0, 1].map(|_| ExchangeTimer::start(&settings));
        let [first_timer, second_timer] = &mut timers;
        let (mut first, mut second) = (BodyReservation::default(), BodyReservation::default());
        assert!(budget.grow(&mut first, 0, 1 << 20, first_timer).await);
        assert!(budget.grow(&mut second, 0, 1 << 20, second_timer).await);
        assert!(!budget.grow(&mut first, FIRST_STEP_BYTES, 1 << 20, first_timer).await, "it is truncated");
        drop(first);
        assert!(budget.grow(&mut second, FIRST_STEP_BYTES, 1 << 20, second_timer).await);
    }
}
