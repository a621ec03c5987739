//! `secateur check`: would the provider accept this?

use comfy_table::Cell;
use secateur_core::check::check;
use secateur_core::internal::json::path_at;

use crate::Failure;
use crate::args::CheckArgs;
use crate::input::{say, write_stdout};
use crate::table::{green, red_cell, table};

pub(crate) fn run(args: &CheckArgs) -> Result<(), Failure> {
    let body = args.input.read()?;
    let view = args.input.view(&body)?;
    let found = check(&view);
    if args.json {
        let list: Vec<_> = found
            .iter()
            .map(|violation| {
                serde_json::json!({
                    "rule": violation.rule,
                    "message": violation.rule.words(),
                    "path": path_at(&body, violation.at as usize + 1),
                    "offset": violation.at,
                })
            })
            .collect();
        let all = serde_json::json!({ "dialect": view.dialect(), "accepted": found.is_empty(), "violations": list });
        write_stdout(format!("{all:#}\n").as_bytes())?;
    } else if found.is_empty() {
        say!(
            "{}: {} request, {} messages",
            green("accepted"),
            view.dialect(),
            view.items().len()
        )?;
    } else {
        let mut rows = table(&["where", "byte", "what"]);
        for violation in &found {
            rows.add_row([
                Cell::new(path_at(&body, violation.at as usize + 1)),
                Cell::new(violation.at),
                red_cell(violation.rule.words()),
            ]);
        }
        say!("{rows}")?;
    }
    if found.is_empty() {
        return Ok(());
    }
    let places = if found.len() == 1 {
        "1 place".into()
    } else {
        format!("{} places", found.len())
    };
    Err(args.input.explain(&format!(
        "the provider of {} would reject it in {places}",
        view.dialect()
    )))
}
