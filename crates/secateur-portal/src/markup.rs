//! Markup that is safe to put into a page as it is.
//!
//! **Invariant:** a [`Markup`] is only made by [`Markup::text`], which escapes, by [`Markup::tags`],
//! whose argument is written in this crate's source, and by joining others. Templates never say
//! that a value is safe.

use std::fmt::{self, Display};

use secateur_ledger::shown::{is_unseen, spell};

/// Escaped text and tags, which a template inserts unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Markup(String);

impl askama::filters::HtmlSafe for Markup {}

impl Display for Markup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Markup {
    /// Nothing yet.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds text, escaped for element content and quoted attribute values.
    pub(crate) fn text(&mut self, text: impl Display) -> &mut Self {
        for letter in text.to_string().chars() {
            match letter {
                unseen if is_unseen(unseen) => {
                    self.0.push_str(&spell(unseen));
                }
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                letter => self.0.push(letter),
            }
        }
        self
    }

    /// Adds tags that are spelled out in the source.
    pub(crate) fn tags(&mut self, tags: &'static str) -> &mut Self {
        self.0.push_str(tags);
        self
    }

    /// Adds a coordinate.
    pub(crate) fn number(&mut self, number: f64) -> &mut Self {
        let tenths = (number * 10.0).round() / 10.0;
        let finite = if tenths.is_finite() { tenths } else { 0.0 };
        // Adding zero turns a negative zero into a plain one.
        self.0.push_str(&(finite + 0.0).to_string());
        self
    }

    /// Adds other markup.
    pub(crate) fn join(&mut self, other: &Self) -> &mut Self {
        self.0.push_str(&other.0);
        self
    }
}

/// A value that somebody else chose, as text of its own: letters written from right to left do not
/// reorder what stands beside it, and letters that show nothing are spelled out.
pub(crate) fn foreign(text: impl Display) -> Markup {
    let mut out = Markup::new();
    out.tags("<bdi>").text(text).tags("</bdi>");
    out
}

/// The same where no element can stand.
pub(crate) fn plain(text: impl Display) -> Markup {
    let mut out = Markup::new();
    out.text(text);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_that_turn_the_text_around_are_spelled_out() {
        let shown = foreign("a\u{202e}b<\u{200f}").to_string();
        assert_eq!(shown, "<bdi>a⟨U+202E⟩b&lt;⟨U+200F⟩</bdi>");
        assert_eq!(plain("\u{5d0}\u{2067}").to_string(), "\u{5d0}⟨U+2067⟩");
    }

    #[test]
    fn text_cannot_leave_an_attribute_or_open_a_tag() {
        let mut markup = Markup::new();
        markup
            .tags("<p title=\"")
            .text("\"><script>'&")
            .tags("\">")
            .number(-0.04);
        assert_eq!(
            markup.to_string(),
            "<p title=\"&quot;&gt;&lt;script&gt;&#39;&amp;\">0"
        );
    }
}
