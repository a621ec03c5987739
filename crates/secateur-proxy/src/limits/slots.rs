//! How many chains run at a time, shared fairly between workloads.
//!
//! A workload holds at most half of the slots, so that its heavy bodies never keep the others out. Who finds
//! no slot waits for one; a slot that is given back goes to the waiting workload that holds the fewest.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

/// The slots of all chains. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Slots(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    free: usize,
    max_per_workload: usize,
    /// Workloads that hold a slot or wait for one: few.
    workloads: Vec<OfWorkload>,
    /// Counts slots that were given out.
    given: u64,
}

#[derive(Debug)]
struct OfWorkload {
    name: Arc<str>,
    held: usize,
    waiting: VecDeque<oneshot::Sender<Slot>>,
    /// The number of the last slot that it was given.
    last_given: u64,
}

impl State {
    fn of(&mut self, name: &Arc<str>) -> &mut OfWorkload {
        let known = self.workloads.iter().position(|of| of.name == *name);
        let at = known.unwrap_or_else(|| {
            self.workloads.push(OfWorkload {
                name: Arc::clone(name),
                held: 0,
                waiting: VecDeque::new(),
                last_given: 0,
            });
            self.workloads.len() - 1
        });
        &mut self.workloads[at]
    }

    /// Takes a free slot for a workload, if it may hold another one.
    fn take(&mut self, name: &Arc<str>) -> bool {
        let (free, max) = (self.free, self.max_per_workload);
        let given = self.given + 1;
        let of = self.of(name);
        if free == 0 || of.held >= max {
            return false;
        }
        of.held += 1;
        of.last_given = given;
        self.given = given;
        self.free -= 1;
        true
    }

    /// The next who gets a free slot: of the workload that holds the fewest, and of several such of the one
    /// that was served longest ago.
    fn next(&mut self) -> Option<(Arc<str>, oneshot::Sender<Slot>)> {
        if self.free == 0 {
            return None;
        }
        for of in &mut self.workloads {
            while of.waiting.front().is_some_and(oneshot::Sender::is_closed) {
                of.waiting.pop_front();
            }
        }
        let max = self.max_per_workload;
        let may = |of: &&mut OfWorkload| !of.waiting.is_empty() && of.held < max;
        let of = self
            .workloads
            .iter_mut()
            .filter(may)
            .min_by_key(|of| (of.held, of.last_given))?;
        let (name, waiting) = (Arc::clone(&of.name), of.waiting.pop_front()?);
        self.take(&name).then_some((name, waiting))
    }

    fn give_back(&mut self, name: &Arc<str>) {
        self.free += 1;
        let of = self.of(name);
        of.held -= 1;
        self.workloads
            .retain(|of| of.held > 0 || !of.waiting.is_empty());
    }
}

impl Slots {
    pub(crate) fn new(count: usize) -> Self {
        Self(Arc::new(Mutex::new(State {
            free: count,
            max_per_workload: count.div_ceil(2),
            workloads: Vec::new(),
            given: 0,
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A slot for this workload; `None`: there was none within this time.
    pub(crate) async fn acquire(&self, workload: &Arc<str>, within: Duration) -> Option<Slot> {
        let granted = {
            let mut state = self.state();
            if state.take(workload) {
                drop(state);
                return Some(self.slot(workload));
            }
            let (grant, granted) = oneshot::channel();
            let waiting = &mut state.of(workload).waiting;
            // Those who gave up are gone by now: the queue is as long as there are requests that wait.
            waiting.retain(|waiting| !waiting.is_closed());
            waiting.push_back(grant);
            granted
        };
        tokio::time::timeout(within, granted).await.ok()?.ok()
    }

    fn slot(&self, workload: &Arc<str>) -> Slot {
        Slot {
            slots: self.clone(),
            workload: Arc::clone(workload),
        }
    }

    fn release(&self, workload: &Arc<str>) {
        self.state().give_back(workload);
        loop {
            // Not locked while it is handed over: a slot that nobody takes any more comes back here.
            let next = self.state().next();
            let Some((name, waiting)) = next else {
                return;
            };
            drop(waiting.send(self.slot(&name)));
        }
    }
}

/// The right to run one chain, until it is dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    slots: Slots,
    workload: Arc<str>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.release(&self.workload);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(40);
    const LONG: Duration = Duration::from_secs(20);

    #[tokio::test]
    async fn one_workload_leaves_half_of_the_slots_to_others() {
        let slots = Slots::new(4);
        let (heavy, light): (Arc<str>, Arc<str>) = ("heavy".into(), "light".into());
        let held = [
            slots.acquire(&heavy, SOON).await,
            slots.acquire(&heavy, SOON).await,
        ];
        assert!(held.iter().all(Option::is_some));
        assert!(slots.acquire(&heavy, SOON).await.is_none());
        let others = [
            slots.acquire(&light, SOON).await,
            slots.acquire(&light, SOON).await,
        ];
        assert!(others.iter().all(Option::is_some));
        drop((held, others));
        assert_eq!(slots.state().free, 4);
        // What gave up waiting leaves nothing behind.
        drop(slots.acquire(&heavy, SOON).await);
        assert!(slots.state().workloads.is_empty());
    }

    #[tokio::test]
    async fn a_slot_goes_to_the_workload_that_holds_fewest_and_waits_longest() {
        let slots = Slots::new(1);
        let names: [Arc<str>; 2] = ["a".into(), "b".into()];
        let first = slots.acquire(&names[0], SOON).await.unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        // Three of `a` wait before one of `b` comes.
        for name in [&names[0], &names[0], &names[0], &names[1]] {
            let (slots, name, order) = (slots.clone(), Arc::clone(name), Arc::clone(&order));
            tasks.push(tokio::spawn(async move {
                let slot = slots.acquire(&name, LONG).await;
                order.lock().unwrap().push(name);
                drop(slot);
            }));
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        drop(first);
        for task in tasks {
            task.await.unwrap();
        }
        let order: Vec<String> = order
            .lock()
            .unwrap()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(order, ["b", "a", "a", "a"]);
        assert_eq!(slots.state().free, 1);
    }

    #[tokio::test]
    async fn who_gave_up_gets_no_slot() {
        let slots = Slots::new(1);
        let name: Arc<str> = "a".into();
        let first = slots.acquire(&name, SOON).await.unwrap();
        assert!(slots.acquire(&name, SOON).await.is_none());
        let waiting = {
            let (slots, name) = (slots.clone(), Arc::clone(&name));
            tokio::spawn(async move { slots.acquire(&name, LONG).await.is_some() })
        };
        tokio::time::sleep(Duration::from_millis(5)).await;
        drop(first);
        assert!(waiting.await.unwrap());
        assert_eq!(slots.state().free, 1);
    }
}
