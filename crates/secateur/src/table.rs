//! Tables, colours and numbers for people.

use anstyle::{AnsiColor, Style};
use comfy_table::{Attribute, Cell, Color, ContentArrangement, Table, TableComponent, presets};
pub(crate) use secateur_core::internal::thousands;
use secateur_ledger::shown::in_line;

/// Longer names are cut; they come from clients.
const MAX_NAME_CHARS: usize = 60;

/// A table with these column heads, as wide as the terminal allows, plain where there is none.
pub(crate) fn table(heads: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_style(TableComponent::HeaderLines, '─');
    table.set_style(TableComponent::MiddleHeaderIntersections, '─');
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(
        heads
            .iter()
            .map(|head| Cell::new(head).add_attribute(Attribute::Bold)),
    );
    table
}

/// A cell about something that is cut.
pub(crate) fn amber_cell(text: impl ToString) -> Cell {
    Cell::new(text).fg(Color::Yellow)
}

/// A cell about something that stays.
pub(crate) fn green_cell(text: impl ToString) -> Cell {
    Cell::new(text).fg(Color::Green)
}

/// A cell about something that is wrong.
pub(crate) fn red_cell(text: impl ToString) -> Cell {
    Cell::new(text).fg(Color::Red)
}

fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

pub(crate) fn bold(text: &str) -> String {
    paint(Style::new().bold(), text)
}

pub(crate) fn red(text: &str) -> String {
    paint(AnsiColor::Red.on_default().bold(), text)
}

pub(crate) fn amber(text: &str) -> String {
    paint(AnsiColor::Yellow.on_default(), text)
}

pub(crate) fn green(text: &str) -> String {
    paint(AnsiColor::Green.on_default(), text)
}

/// `1 request`, `1,200 requests`.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    let count = thousands(number);
    let ending = if number == 1 { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

/// Dollars, to the hundredth of a cent below one dollar.
pub(crate) fn usd(amount: f64) -> String {
    let digits = if amount.abs() < 1.0 { 4 } else { 2 };
    let sign = if amount < 0.0 { "-" } else { "" };
    format!("{sign}${:.digits$}", amount.abs())
}

/// Names come from clients, and may hold anything.
pub(crate) fn name_of(group: &str) -> String {
    if group.is_empty() {
        return "(none)".into();
    }
    let name = in_line(group);
    if name.chars().count() <= MAX_NAME_CHARS {
        return name.into_owned();
    }
    let cut: String = name.chars().take(MAX_NAME_CHARS - 1).collect();
    format!("{cut}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular() {
        assert_eq!(counted(1, "request"), "1 request");
        assert_eq!(counted(0, "request"), "0 requests");
        assert_eq!(counted(1200, "message"), "1,200 messages");
    }

    #[test]
    fn names_hold_no_control_characters_and_have_an_end() {
        assert_eq!(name_of("gpt\u{1b}[31m\n"), "gpt⟨U+001B⟩[31m⟨U+000A⟩");
        assert_eq!(name_of(""), "(none)");
        assert_eq!(name_of(&"x".repeat(500)).chars().count(), MAX_NAME_CHARS);
    }

    #[test]
    fn numbers_get_separators() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(1_000), "1,000");
        assert_eq!(thousands(12_345_678), "12,345,678");
    }
}
