//! What the proxy answers itself: health, metrics, status, scores, recall, and words where there is no page.

mod endpoint;
mod no_pages;
mod paths;
mod readers;
pub mod recall;
mod scores;
mod status;

pub(crate) use no_pages::{pages_are_off, refuse_navigation};
pub(crate) use paths::OwnPath;
pub(crate) use recall::{claims as claims_recall, respond as respond_to_recall};
pub(crate) use scores::{claims as claims_score, respond as respond_to_score};
