//! `secateur check`: would the provider accept this?

use comfy_table::Cell;
use secateur_core::check::check;
use secateur_core::dialect;
use secateur_core::internal::json::path_at;

use crate::args::CheckArgs;
use crate::failure::Failure;
use crate::input::{say, write_stdout};
use crate::table::{counted, green, red_cell, table};

pub(crate) fn run(args: &CheckArgs) -> Result<(), Failure> {
    let body = args.input.read()?;
    let view = args.input.view(&body)?;
    let shape = dialect::detect(&body, &args.input.request().limits);
    if let Ok(shape) = shape
        && shape != view.dialect()
    {
        return Err(args.input.explain(&format!(
            "this is a request in the dialect {shape}: the provider of {} would reject it",
            view.dialect()
        )));
    }
    let found = check(&view);
    if args.json {
        let list: Vec<_> = found
            .iter()
            .map(|violation| {
                serde_json::json!({
                    "rule": violation.rule,
                    "message": violation.rule.describe(),
                    "path": path_at(&body, violation.at as usize + 1),
                    "offset": violation.at,
                })
            })
            .collect();
        let all = serde_json::json!({ "dialect": view.dialect(), "accepted": found.is_empty(), "violations": list });
        write_stdout(format!("{all:#}\n").as_bytes())?;
    } else if found.is_empty() {
        say!(
            "{}: {} request, {}",
            green("accepted"),
            view.dialect(),
            counted(view.items().len() as u64, "message")
        )?;
    } else {
        let mut rows = table(&["where", "byte", "what"]);
        for violation in &found {
            rows.add_row([
                Cell::new(path_at(&body, violation.at as usize + 1)),
                Cell::new(violation.at),
                red_cell(violation.rule.describe()),
            ]);
        }
        say!("{rows}")?;
    }
    if found.is_empty() {
        return Ok(());
    }
    let places = counted(found.len() as u64, "place");
    Err(args.input.explain(&format!(
        "the provider of {} would reject it in {places}",
        view.dialect()
    )))
}
