//! One budget for the bytes of all bodies that are held in memory: buffered ones and decoded ones.
//!
//! A body that is streamed through is not held and costs nothing here. Bytes count as they arrive, not as a
//! header announces them, and until the last copy of the body is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;

/// There is no room for more bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OverBudget;

/// Counts the bytes that are held, up to a limit.
#[derive(Debug)]
pub(crate) struct ByteBudget {
    limit: AtomicUsize,
    used: AtomicUsize,
}

impl ByteBudget {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit: AtomicUsize::new(limit),
            used: AtomicUsize::new(0),
        })
    }

    /// Takes a new limit over. What is held already stays.
    pub(crate) fn set_limit(&self, limit: usize) {
        self.limit.store(limit, Ordering::Relaxed);
    }

    /// The bytes that are held.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// A reservation of nothing, which grows.
    pub(crate) fn reserve(self: &Arc<Self>) -> Reservation {
        Reservation {
            budget: Arc::clone(self),
            bytes: 0,
        }
    }
}

/// Bytes of the budget, until it is dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Arc<ByteBudget>,
    bytes: usize,
}

impl Reservation {
    /// Makes it this large. A smaller size than before changes nothing.
    ///
    /// # Errors
    /// The budget is used up; the reservation stays as it was.
    pub(crate) fn grow_to(&mut self, bytes: usize) -> Result<(), OverBudget> {
        let more = bytes.saturating_sub(self.bytes);
        if more == 0 {
            return Ok(());
        }
        let limit = self.budget.limit.load(Ordering::Relaxed);
        let before = self.budget.used.fetch_add(more, Ordering::Relaxed);
        if before.saturating_add(more) > limit {
            self.budget.used.fetch_sub(more, Ordering::Relaxed);
            return Err(OverBudget);
        }
        self.bytes = bytes;
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Ties a body to its reservation: the budget gets the bytes back with the last clone.
pub(crate) fn hold(body: impl AsRef<[u8]> + Send + 'static, reservation: Reservation) -> Bytes {
    Bytes::from_owner(Held {
        body,
        _reservation: reservation,
    })
}

struct Held<B> {
    body: B,
    _reservation: Reservation,
}

impl<B: AsRef<[u8]>> AsRef<[u8]> for Held<B> {
    fn as_ref(&self) -> &[u8] {
        self.body.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_count_until_the_last_clone_of_their_body_is_gone() {
        let budget = ByteBudget::new(100);
        let mut first = budget.reserve();
        first.grow_to(60).unwrap();
        first.grow_to(40).unwrap();
        assert_eq!(budget.used(), 60);
        let mut second = budget.reserve();
        assert_eq!(second.grow_to(41), Err(OverBudget));
        second.grow_to(40).unwrap();
        drop(second);
        let body = hold(Bytes::from(vec![7; 60]), first);
        let part = body.slice(5..10);
        drop(body);
        assert_eq!(budget.used(), 60);
        drop(part);
        assert_eq!(budget.used(), 0);
        budget.set_limit(10);
        assert_eq!(budget.reserve().grow_to(11), Err(OverBudget));
    }
}
