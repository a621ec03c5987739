//! Pages that say one thing: sign in, not found, refused, the ledger does not answer.

use askama::Template;

use crate::shell::Shell;

#[derive(Template)]
#[template(path = "message.html")]
pub(crate) struct MessagePage {
    pub(crate) shell: Shell,
    pub(crate) title: String,
    pub(crate) text: String,
    /// What to do next.
    pub(crate) hint: String,
    pub(crate) link: Option<(&'static str, &'static str)>,
}

#[derive(Template)]
#[template(path = "login.html")]
pub(crate) struct LoginPage {
    pub(crate) shell: Shell,
    /// Where to go afterwards.
    pub(crate) next: String,
    /// The name that came with the last try.
    pub(crate) name: String,
    /// What was wrong with the last try.
    pub(crate) problem: Option<String>,
}
