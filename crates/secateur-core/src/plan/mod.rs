//! What may be cut: edits, the draft that collects them, what strategies see, and the guards.

pub(crate) mod arriving_text;
pub(crate) mod context;
pub(crate) mod draft;
pub mod edit;
pub(crate) mod guard;
pub(crate) mod inputs;
pub mod mechanic;
mod new_edits;
pub(crate) mod placeholder;
pub(crate) mod recall_id;
pub(crate) mod settle;
pub mod summary;
pub(crate) mod timeline;
