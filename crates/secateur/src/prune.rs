//! `secateur prune`.

use secateur_core::prune;
use secateur_core::report::{Report, Verdict};

use crate::args::PruneArgs;
use crate::failure::Failure;
use crate::input::{write_file, write_stdout};
use crate::receipt::Bill;
use crate::table::thousands;

pub(crate) fn run(args: &PruneArgs) -> Result<(), Failure> {
    let policy = args.policy.resolve()?;
    let body = args.input.read()?;
    let outcome = prune(&body, &args.input.request(), &policy);
    match &args.output {
        Some(path) => write_file(path, &outcome.body)?,
        None => write_stdout(&outcome.body)?,
    }
    let is_wanted = !args.quiet || args.report.is_some();
    let bill = is_wanted.then(|| Bill::of(&body, &outcome, &args.input, args.cache));
    let bill = bill.flatten();
    if let Some(path) = &args.report {
        write_file(path, &report_json(&outcome.report, bill.as_ref())?)?;
    }
    if let Some(error) = &outcome.error {
        let what = match error {
            secateur_core::report::EngineError::Read(error) => error.explain(&body),
            other => other.to_string(),
        };
        return Err(args
            .input
            .explain(&format!("{what}; the request was passed on as it is")));
    }
    if !args.quiet {
        anstream::eprintln!("{}", summary(&outcome.report, bill.as_ref()));
    }
    Ok(())
}

/// The report with the token counts and the receipt beside it.
pub(crate) fn report_json(report: &Report, bill: Option<&Bill>) -> Result<Vec<u8>, Failure> {
    let wrong =
        |error: serde_json::Error| Failure::bad_input(format!("cannot write the report: {error}"));
    let mut value = serde_json::to_value(report).map_err(wrong)?;
    if let (Some(members), Some(bill)) = (value.as_object_mut(), bill) {
        members.insert("tokens".into(), bill.tokens_json());
        let receipt = serde_json::to_value(bill.receipt).map_err(wrong)?;
        members.insert("receipt".into(), receipt);
    }
    let mut text = serde_json::to_vec_pretty(&value).map_err(wrong)?;
    text.push(b'\n');
    Ok(text)
}

/// One line for people.
pub(crate) fn summary(report: &Report, bill: Option<&Bill>) -> String {
    let dialect = report.dialect.map_or("", |dialect| dialect.name());
    let reason = || {
        report
            .left
            .first()
            .map_or("nothing to cut", |left| left.reason.describe())
    };
    match &report.verdict {
        Verdict::Pruned => {
            let (before, after) = (report.before.bytes, report.after.bytes);
            let mut line = format!(
                "secateur: {dialect}, {} → {} bytes (-{:.1} %)",
                thousands(before),
                thousands(after),
                100.0 * (before as f64 - after as f64) / before.max(1) as f64,
            );
            if let Some(Bill { receipt, counter }) = bill {
                line += &format!(
                    ", {} → {} tokens ({counter})",
                    thousands(receipt.predicted_input_tokens_before),
                    thousands(receipt.predicted_input_tokens_after),
                );
            }
            line += &format!(
                ", {} of {} messages left, first edit at byte {}",
                report.after.messages,
                report.before.messages,
                thousands(report.first_edit_at.unwrap_or_default()),
            );
            if let Some(beta) = report.beta {
                line += &format!(", send it with the header anthropic-beta: {beta}");
            }
            line
        }
        Verdict::Marked => format!(
            "secateur: {dialect}, nothing cut, marked for the provider's cache, {} bytes",
            thousands(report.after.bytes),
        ),
        _ => format!(
            "secateur: {dialect}, unchanged, {} bytes: {}",
            thousands(report.before.bytes),
            reason()
        ),
    }
}
