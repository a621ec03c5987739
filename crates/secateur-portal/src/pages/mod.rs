//! One file per page: what it shows, made from what the ledger told.

pub(crate) mod astray;
pub(crate) mod audit_list;
pub(crate) mod audit_row;
pub(crate) mod kept_text;
pub(crate) mod list_query;
pub(crate) mod message;
pub(crate) mod quality;
pub(crate) mod quality_list;
pub(crate) mod row_line;
pub(crate) mod start;
pub(crate) mod timeline;
pub(crate) mod trend;
pub(crate) mod workloads;
