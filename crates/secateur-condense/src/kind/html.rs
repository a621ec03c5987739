//! HTML: only the visible text, headings first. Tags, scripts and styles are left out silently; the
//! first note says so.

use super::Layout;
use crate::OutputKind;
use crate::timestamp::Prefix;
use crate::units::{Glue, Splitting, Unit, push_chunks, unit};

/// Elements whose content nobody reads.
const UNSEEN: &[&str] = &["script", "style", "svg", "noscript", "template"];
/// Elements inside a line of text.
const INLINE: &[&str] = &[
    "a", "b", "i", "em", "strong", "span", "code", "small", "sub", "sup", "u", "kbd", "mark",
    "abbr", "q", "s", "var", "font",
];

pub(super) fn is_html(text: &str) -> bool {
    let head = text[..text.floor_char_boundary(1_000)]
        .trim_start()
        .to_ascii_lowercase();
    head.starts_with("<!doctype html")
        || head.starts_with("<html")
        || head.starts_with('<') && head.contains("<body")
        || head.starts_with("<div")
}

pub(super) fn read(text: &str, splitting: Splitting) -> Layout {
    let splitting = Splitting {
        prefix: Prefix::None,
        escapes: false,
        ..splitting
    };
    let mut page = Page {
        text,
        splitting,
        units: Vec::new(),
        covered: 0,
        glue: Glue::None,
        rank: 400,
        nth: 0,
        no_tag_from: usize::MAX,
        unclosed: Vec::new(),
    };
    let mut at = 0;
    while let Some(open) = find(text, at, "<") {
        page.text_until(at, open);
        at = page.markup(open);
    }
    page.text_until(at, text.len());
    if page.covered < text.len() {
        page.units
            .push(unit(text, page.covered, text.len(), text.len(), splitting));
    }
    let mut layout = Layout::new(OutputKind::Html, splitting, page.units);
    layout.about = " HTML, visible text only, without markup".to_owned();
    layout
}

fn find(text: &str, from: usize, what: &str) -> Option<usize> {
    text.get(from..)?.find(what).map(|at| from + at)
}

struct Page<'a> {
    text: &'a str,
    splitting: Splitting,
    units: Vec<Unit>,
    /// Where the next unit begins.
    covered: usize,
    glue: Glue,
    rank: u32,
    nth: u32,
    /// From here on no `>` was found, so nothing below is a tag.
    no_tag_from: usize,
    /// Unseen elements that are not closed in the rest of the text.
    unclosed: Vec<&'static str>,
}

impl Page<'_> {
    /// A run of text between tags becomes a unit that swallows the markup before it.
    fn text_until(&mut self, from: usize, to: usize) {
        let words = self.text[from..to].trim();
        if words.is_empty() {
            return;
        }
        let body = from + (self.text[from..to].len() - self.text[from..to].trim_start().len());
        let end = body + words.len();
        let first = self.units.len();
        if end - body > 4 * self.splitting.chunk_bytes {
            let mut lead = unit(self.text, self.covered, body, body, self.splitting);
            lead.glue = self.glue;
            if lead.start < lead.end {
                self.units.push(lead);
            }
            push_chunks(self.text, body, end, self.splitting, &mut self.units);
        } else {
            self.units
                .push(unit(self.text, self.covered, body, end, self.splitting));
        }
        self.nth = (self.nth + 1).min(100_000);
        // Earlier text is worth more, slowly falling.
        let rank = self.rank * 60 / (60 + self.nth.min(600) / 4);
        for piece in &mut self.units[first..] {
            piece.glue = self.glue;
            // The separator before it.
            piece.chars += 1;
            piece.rank(rank);
        }
        if let Some(glued) = self.units.get_mut(first + 1..) {
            for piece in glued {
                piece.glue = Glue::None;
            }
        }
        self.covered = end;
        self.glue = Glue::Blank;
    }

    /// Passes one tag, comment or unseen element and returns where it ends.
    fn markup(&mut self, open: usize) -> usize {
        let text = self.text;
        let rest = &text[open..];
        if rest.starts_with("<!--") {
            return find(text, open + 4, "-->").map_or(text.len(), |end| end + 3);
        }
        let closing = rest.starts_with("</");
        let name_from = open + 1 + usize::from(closing);
        let name_len = text.as_bytes()[name_from..]
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric())
            .count();
        if name_len == 0 && !rest.starts_with("<!") && !rest.starts_with("<?") {
            return open + 1;
        }
        let name = text[name_from..name_from + name_len].to_ascii_lowercase();
        if open >= self.no_tag_from {
            return open + 1;
        }
        let Some(end) = find(text, open, ">").map(|end| end + 1) else {
            self.no_tag_from = open;
            return open + 1;
        };
        if !INLINE.contains(&name.as_str()) {
            self.glue = Glue::Newline;
        }
        if matches!(
            name.as_str(),
            "h1" | "h2" | "h3" | "h4" | "title" | "caption" | "th"
        ) {
            self.rank = if closing { 400 } else { 3_000 };
        }
        if matches!(name.as_str(), "nav" | "footer" | "header" | "aside") {
            self.rank = if closing { 400 } else { 80 };
        }
        let unseen = UNSEEN
            .iter()
            .find(|unseen| **unseen == name && !closing && !self.unclosed.contains(*unseen));
        let Some(unseen) = unseen.filter(|_| !text[open..end].ends_with("/>")) else {
            return end;
        };
        let Some(close) = find_closing(text, end, unseen) else {
            self.unclosed.push(unseen);
            return end;
        };
        find(text, close, ">").map_or(text.len(), |end| end + 1)
    }
}

/// Where `</name` begins, in any case.
fn find_closing(text: &str, from: usize, name: &str) -> Option<usize> {
    let mut at = from;
    while let Some(open) = find(text, at, "</") {
        let end = open + 2 + name.len();
        if text
            .as_bytes()
            .get(open + 2..end)
            .is_some_and(|part| part.eq_ignore_ascii_case(name.as_bytes()))
        {
            return Some(open);
        }
        at = open + 2;
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::{Budget, OutputKind, condense};

    #[test]
    fn headings_and_text_stay_and_markup_goes() {
        let mut text = String::from(
            "<!DOCTYPE html><html><head><title>The Page</title><style>p { color: red }</style></head><body>",
        );
        for part in 0..40 {
            text += &format!(
                "<div class=\"c{part}\"><h2>Heading {part}</h2><p>Some <b>bold</b> text of part {part}, which goes on for a while.</p></div><script>var x{part} = \"<p>no</p>\";</script>"
            );
        }
        text += "</body></html>";
        let condensed = condense(&text, &Budget::chars(2_000)).expect("over budget");
        assert_eq!(condensed.kind, OutputKind::Html);
        let out = condensed.render(&text);
        for part in 0..40 {
            assert!(out.contains(&format!("Heading {part}\n")), "{out}");
        }
        assert!(out.contains("The Page\n"), "{out}");
        assert!(out.contains("Some bold text of part 0,"), "{out}");
        assert!(
            !out.contains("<div") && !out.contains("color: red") && !out.contains("var x"),
            "{out}"
        );
    }

    #[test]
    fn unclosed_tags_and_scripts_do_no_harm() {
        for text in [
            "<html><script>".to_owned() + &"x".repeat(5_000),
            "<html><p ".to_owned() + &"é".repeat(5_000),
            "<html>a < b ".repeat(600),
        ] {
            if let Some(condensed) = condense(&text, &Budget::chars(1_000)) {
                assert!(condensed.render(&text).chars().count() <= 1_000);
            }
        }
    }
}
