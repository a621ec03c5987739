//! The portal over a real ledger in a file, asked as a server would ask it.

mod guards;
mod planted;
mod stage;
mod switches;
