//! Sessions read, replayed and priced.

mod logs;
mod reading;
mod rounds;
mod scoring;
