//! What bounds the work, the memory and the waiting time of all requests together.

mod byte_budget;
mod client_io;
mod connections;
mod idle;
mod slots;
mod stall_timer;
mod stream_watch;
mod time_budget;

pub(crate) use byte_budget::{ByteBudget, OverBudget, hold};
pub(crate) use client_io::ClientIo;
pub(crate) use connections::{Admission, Connections, Place};
pub(crate) use idle::IdleTimer;
pub(crate) use slots::Slots;
pub(crate) use stall_timer::{Pace, StallTimer};
pub(crate) use stream_watch::{StreamExecutor, StreamWatch};
pub use time_budget::TimeBudget;
