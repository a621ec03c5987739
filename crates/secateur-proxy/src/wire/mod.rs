//! HTTP and names as they pass: bodies, headers, encodings, paths, ids.

pub(crate) mod encoding;
pub(crate) mod headers;
pub(crate) mod identity;
pub(crate) mod names;
pub(crate) mod normal_path;
pub(crate) mod request_body;
