//! What `secateur serve` shows on a terminal when it has started.

use std::fmt::Write;

use secateur_proxy::cli::Started;
use secateur_proxy::config::Workload;

use crate::table::{bold, green};

/// Writes the page to standard error, where log lines follow.
pub(crate) fn announce(started: &Started) {
    anstream::eprint!("{}", page(started));
}

fn page(started: &Started) -> String {
    let mut page = String::new();
    let url = &started.url;
    // Writing to a String cannot fail.
    let _ = writeln!(page, "{} listens on {url}\n", bold("Secateur"));
    let workloads = &started.config.workloads;
    let changing = workloads.values().filter(|one| one.has_mechanics());
    if let Some(workload) = first(changing.map(|one| &**one)) {
        page += &clients(&format!("{url}/w/{}", workload.name));
    }
    let _ = writeln!(page, "{}", bold("Workloads"));
    for workload in workloads.values() {
        let does = workload.describe();
        let does = if workload.has_mechanics() {
            green(&does)
        } else {
            does
        };
        let _ = writeln!(page, "  {url}/w/{:<12} {does}", workload.name);
    }
    let _ = writeln!(page, "  {url:<width$} as default", width = url.len() + 15);
    let portal = match &started.no_portal {
        None => format!("{url}/portal"),
        Some(reason) => format!("off: {reason}"),
    };
    let config = match &started.file {
        Some(file) => file.display().to_string(),
        None => "built in; `secateur config init` writes a file to change".to_owned(),
    };
    let ledger = match &started.config.ledger {
        Some(ledger) => match ledger.url.reveal().strip_prefix("sqlite:") {
            Some(file) => file.to_owned(),
            // The address may hold a password.
            None => "PostgreSQL".to_owned(),
        },
        None => "off".to_owned(),
    };
    let places = [("Portal", portal), ("Config", config), ("Ledger", ledger)];
    let _ = writeln!(page);
    for (name, place) in places {
        let _ = writeln!(page, "{}     {place}", bold(name));
    }
    let _ = writeln!(page, "\nRequests follow; Ctrl-C stops.");
    page
}

/// The workload for agents, else the first.
fn first<'w>(workloads: impl Iterator<Item = &'w Workload>) -> Option<&'w Workload> {
    let all: Vec<&Workload> = workloads.collect();
    let agent = all.iter().find(|workload| &*workload.name == "agent");
    agent.or(all.first()).copied()
}

/// Lines to copy.
fn clients(base: &str) -> String {
    let lines = [
        (
            "Any agent, set up for you",
            "secateur run claude   # codex, opencode, gemini, pi".to_owned(),
        ),
        (
            "Claude Code",
            format!("ANTHROPIC_BASE_URL={base} ENABLE_TOOL_SEARCH=true claude"),
        ),
        ("Anthropic SDK", format!("ANTHROPIC_BASE_URL={base}")),
        ("OpenAI SDK", format!("OPENAI_BASE_URL={base}/v1")),
        ("Gemini CLI, SDK", format!("GOOGLE_GEMINI_BASE_URL={base}")),
    ];
    let mut page = format!("{}\n", bold("Clients"));
    for (client, line) in lines {
        let _ = writeln!(page, "  {client:<26} {line}");
    }
    page.push('\n');
    page
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use secateur_proxy::Config;
    use secateur_proxy::config::BUILT_IN;

    use super::*;

    #[test]
    fn the_page_has_the_address_for_each_client_and_what_is_on() {
        let config = Config::read("c", BUILT_IN, Path::new("."), &|_| None).unwrap();
        let started = Started {
            url: "http://127.0.0.1:8787".into(),
            config: Arc::new(config),
            file: None,
            no_portal: None,
        };
        let page = anstream::adapter::strip_str(&page(&started)).to_string();
        for words in [
            "ANTHROPIC_BASE_URL=http://127.0.0.1:8787/w/agent ",
            "OPENAI_BASE_URL=http://127.0.0.1:8787/w/agent/v1\n",
            "GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:8787/w/agent\n",
            "/w/agent        prunes (",
            "/w/default      passes through",
            "Portal     http://127.0.0.1:8787/portal\n",
            "secateur-ledger.db",
        ] {
            assert!(page.contains(words), "{words} in\n{page}");
        }
    }
}
