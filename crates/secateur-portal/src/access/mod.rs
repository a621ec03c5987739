//! Who may see the pages and send their forms.

mod attempts;
mod origin;
mod session;
mod token;

pub(crate) use attempts::Attempts;
pub(crate) use origin::{client, is_own_form, port};
pub(crate) use session::{Session, Sessions};
pub use token::PortalToken;
