//! What a tool call is about: its kind, its file, its arguments, and the commands inside it.

pub(crate) mod call_args;
pub(crate) mod class;
pub(crate) mod facts;
pub(crate) mod failure;
pub(crate) mod names;
pub(crate) mod patch;
pub(crate) mod script;
pub(crate) mod shell;
