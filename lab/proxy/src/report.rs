//! The servers of a run, and the page that is printed of it.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::bodies::chat;
use crate::goals::{self, Goal};
use crate::load::Measured;
use crate::measure::{
    AUDIT_PAIRS, BARE, COMPARED, HYPER, Lane, OTHER, OURS, PATH, Results, Rows, Slice, Spread,
    label, measure,
};
use crate::peers::{self, Peer};
use crate::process::Server;
use crate::secateur::{self, Keeps, Upstream};
use crate::table::Table;
use crate::wire::Shot;
use crate::{Options, Outcome, machine, tls};

/// A folder that goes with the run.
struct Work(PathBuf);

impl Drop for Work {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) async fn run(options: &Options) -> Outcome<()> {
    let machine = machine::describe();
    let work = Work(std::env::temp_dir().join(format!("secateur-lab-{}", std::process::id())));
    std::fs::create_dir_all(&work.0)?;
    let upstream = Server::start(&["serve-upstream"]).await?;
    let passthrough = Server::start(&["serve-passthrough", &upstream.url]).await?;
    let first = Shot::new(PATH, chat(1_000, false));
    let plain = Upstream {
        url: &upstream.url,
        ca_file: None,
        program: None,
    };
    let start =
        async |keeps, name: &str| secateur::start(keeps, &plain, &work.0.join(name), &first).await;
    let secateur = start(Keeps::Ledger, "ledger").await?;
    let logging = start(Keeps::LedgerAndLog, "log").await?;
    let bare = start(Keeps::Nothing, "bare").await?;
    let idle_mb = secateur.resident_mb();
    let (peers, missing) = match options.peers {
        true => peers::start(&upstream.url, &work.0, &first).await,
        false => (Vec::new(), vec!["peers were not asked for".to_owned()]),
    };
    let pruned = format!("{}/w/pruned", secateur.url);
    let lane = |name: &str, url: &str, process| Lane::new(name, url, process, Some(upstream.id()));
    let mut lanes = vec![
        Lane::new("direct", &upstream.url, upstream.id(), None),
        lane(HYPER, &passthrough.url, passthrough.id()),
        lane(OURS, &secateur.url, secateur.id()),
        lane(BARE, &bare.url, bare.id()),
        lane("secateur, log", &logging.url, logging.id()),
        lane("secateur, m7", &pruned, secateur.id()),
    ];
    let peer = |peer: &Peer| Lane::peer(peer.name, &peer.url, &peer.headers);
    lanes.extend(peers.iter().map(peer));
    let mut kept = Vec::new();
    let mut pairs = Vec::new();
    for number in 0..if options.audit { AUDIT_PAIRS } else { 0 } {
        let with = start(Keeps::Ledger, &format!("with {number}")).await?;
        let without = start(Keeps::Nothing, &format!("without {number}")).await?;
        pairs.push([
            lane(OURS, &with.url, with.id()),
            lane(BARE, &without.url, without.id()),
        ]);
        kept.extend([with, without]);
    }
    let (tls_lanes, tls_servers) = match options.tls {
        true => over_tls(options, &work.0, &first).await?,
        false => (Vec::new(), Vec::new()),
    };
    let measured = measure(options, &lanes, &pairs, &tls_lanes).await;
    drop((kept, tls_servers));
    let peak_mb = secateur.peak_mb();
    let page = page(
        options,
        &machine,
        &peers,
        &missing,
        &measured,
        (idle_mb, peak_mb),
    )?;
    for peer in peers {
        peer.end().await;
    }
    std::io::stdout().write_all(page.as_bytes())?;
    if options.write {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("RESULTS.md");
        std::fs::write(&path, page)?;
    }
    Ok(())
}

/// An upstream behind TLS, and lanes to it.
async fn over_tls(
    options: &Options,
    work: &Path,
    shot: &Shot,
) -> Outcome<(Vec<Lane>, Vec<Server>)> {
    let ca_file = work.join("ca.pem");
    let ca_name = ca_file.to_str().ok_or("the folder's name is not UTF-8")?;
    let upstream = Server::start(&["serve-upstream", ca_name]).await?;
    let hyper = Server::start(&["serve-passthrough", &upstream.url, ca_name]).await?;
    let start = async |keeps, name: &str, program| {
        let upstream = Upstream {
            url: &upstream.url,
            ca_file: Some(&ca_file),
            program,
        };
        secateur::start(keeps, &upstream, &work.join(name), shot).await
    };
    let mut servers = vec![
        (HYPER, hyper),
        (OURS, start(Keeps::Ledger, "tls", None).await?),
        (BARE, start(Keeps::Nothing, "tls bare", None).await?),
    ];
    if let Some(program) = &options.against {
        let other = start(Keeps::Ledger, "tls other", Some(program.as_path())).await?;
        servers.push((OTHER, other));
    }
    let direct = Lane::new("direct", &upstream.url, upstream.id(), None);
    let mut lanes = vec![direct.over_tls(tls::trusting(&ca_file)?)];
    let lane = |(name, server): &(&str, Server)| {
        Lane::new(name, &server.url, server.id(), Some(upstream.id()))
    };
    lanes.extend(servers.iter().map(lane));
    let servers = servers.into_iter().map(|(_, server)| server);
    let servers = servers.chain([upstream]).collect();
    Ok((lanes, servers))
}

fn page(
    options: &Options,
    machine: &str,
    peers: &[Peer],
    missing: &[String],
    results: &Results,
    (idle_mb, peak_mb): (f64, f64),
) -> Outcome<String> {
    let mut out = format!(
        "# The proxy under load\n\n\
         - **Question:** how much throughput, latency and memory does the proxy cost, against a plain pass-through and \
         other gateways?\n\
         - **Command:** `lab/proxy/run --write --rounds {}`\n\
         - **Machine, date:** {machine}; {}\n\
         - **Reading:** the last table, goal by goal.\n\n\
         One upstream, every server a process of its own, all on loopback in one run: the ratios count, not the \
         figures. {} connections. Servers take turns in slices of {} s, {} rounds, each beginning with another one; \
         a slice counts once it has run for 0.3 s, when the ledger writes as many rows as come in, and after it \
         Secateur has 0.45 s to write what it held back. Goals compare the slices of a round with each other and take the \
         middle of all rounds; in brackets between which figures the middle half of the rounds lies.\n\n\
         Secateur writes a row for each request into an SQLite ledger; \"bare\" writes none, \"log\" writes its JSON \
         lines too, \"m7\" prunes with the preset `tessera`.\n\n",
        options.rounds,
        machine::today(),
        options.connections,
        options.slice.as_secs_f64(),
        options.rounds,
    );
    for peer in peers {
        out.push_str(&format!("- {} {}\n", peer.name, peer.version));
    }
    for missing in missing {
        out.push_str(&format!("- {missing}\n"));
    }
    let mut goals = Vec::new();
    if !results.closed.is_empty() {
        out.push_str(THROUGHPUT);
        throughput(&mut out, &results.closed, "", &mut goals);
    }
    audit(&mut out, results, &mut goals);
    if !results.paced.is_empty() {
        out.push_str(HALF_LOAD);
        half_load(&mut out, &results.paced, "", &mut goals);
    }
    let [tls_closed, tls_paced] = &results.tls;
    if !tls_closed.is_empty() {
        out.push_str(OVER_TLS);
        throughput(&mut out, tls_closed, " over TLS", &mut goals);
        out.push_str("\nAt half of the highest load:\n\n");
        half_load(&mut out, tls_paced, " over TLS", &mut goals);
    }
    alone(&mut out, &results.alone, &mut goals);
    out.push_str(&format!(
        "\nMemory of Secateur: {idle_mb:.1} MB idle, {peak_mb:.1} MB at its highest under all of this.\n"
    ));
    goals.push(Goal::at_most("memory when idle", 30.0, idle_mb, " MB"));
    goals::print(&mut out, &goals)?;
    Ok(out)
}

fn percent(spread: Spread) -> String {
    let Spread { low, middle, high } = spread;
    format!("{middle:.0} % ({low:.0} to {high:.0})")
}

const THROUGHPUT: &str = "\n## Throughput\n\n\"CPU\" is what the server's process took of the processors for a request, all \
    of its threads together.\n\n";

const HALF_LOAD: &str = "\n## At half of the highest load\n\nHalf of what Secateur or hyper can do, whichever is less. A request \
    that had to wait for the one before it counts from the moment at which it was due. The middle of all slices; in brackets what \
    is added to hyper's own in the same round: by the bare proxy, and by the proxy with its ledger. \"Of all\" has all slices in \
    one.\n\n";

const OVER_TLS: &str = "\n## Over TLS\n\nThe upstream is behind TLS 1.3 (rustls) with a certificate of an authority made for the run, \
    as every real provider is; clients reach the proxies without TLS, and \"direct\" with it. HTTP/1.1 throughout.\n\n";

/// `over`: what tells these goals from others.
fn throughput(out: &mut String, results: &[Rows], over: &str, goals: &mut Vec<Goal>) {
    let share =
        |one: &Measured, other: &Measured| one.per_second() * 100.0 / other.per_second().max(1.0);
    let mut table = Table::new(&[
        "body", "server", "req/s", "of hyper", "CPU µs", "p50 ms", "p99 ms", "failed",
    ]);
    for rows in results {
        let hyper = rows.per_second(HYPER);
        for row in &rows.rows {
            let (all, each) = (row.all(), rows.per_second(&row.name));
            let is_compared = COMPARED.contains(&row.name.as_str());
            let cpu = row.middle(|slice| slice.cpu_us);
            table.row([
                label(rows.body),
                row.name.clone(),
                format!("{each:.0}"),
                match is_compared {
                    true => percent(rows.compare(&row.name, HYPER, share)),
                    false => format!("{:.0} %", each * 100.0 / hyper.max(1.0)),
                },
                match cpu > 0.0 {
                    true => format!("{cpu:.1}"),
                    false => String::new(),
                },
                format!("{:.3}", all.ms(0.5)),
                format!("{:.3}", all.ms(0.99)),
                all.failed.to_string(),
            ]);
        }
        let of_hyper = rows.compare(OURS, HYPER, share);
        let what = |what: &str| format!("{}{over}, {what}", label(rows.body));
        goals.push(Goal::at_least(
            what("requests/s of hyper's"),
            80.0,
            of_hyper,
            " %",
        ));
        for (peer, times) in [("litellm", 20.0), ("portkey", 5.0)] {
            let theirs = rows.per_second(peer);
            if theirs > 0.0 {
                let name = what(&format!("requests/s of {peer}'s"));
                goals.push(Goal::at_least(
                    name,
                    times,
                    rows.per_second(OURS) / theirs,
                    " ×",
                ));
            }
        }
    }
    table.print(out);
}

fn audit(out: &mut String, results: &Results, goals: &mut Vec<Goal>) {
    if results.audit.is_empty() {
        return;
    }
    let rounds = results.audit.iter().flat_map(|rows| &rows.rows);
    let rounds = rounds.map(|row| row.slices.len()).max().unwrap_or(0);
    out.push_str(&format!(
        "\n## What audit costs\n\nSecateur with its ledger and without, in turn, {rounds} rounds of these two alone, over \
         {AUDIT_PAIRS} processes of each: two that are alike may differ by more than this. Both get the same breaks between their turns. \"Of all\" is the processor time of client, proxy and upstream for a request: on a machine that is full, as many requests fewer \
         are answered as it grows, and it moves less than they do when the machine itself is slowed down.\n\n"
    ));
    let mut table = Table::new(&[
        "body",
        "req/s with",
        "without",
        "costs",
        "CPU µs with",
        "without",
        "of all µs with",
        "without",
        "costs",
    ]);
    for rows in &results.audit {
        let cost = rows.compare(OURS, BARE, |ours, bare| {
            100.0 - ours.per_second() * 100.0 / bare.per_second().max(1.0)
        });
        let of_all = rows.compare_slices(OURS, BARE, |ours, bare| {
            100.0 - bare.all_us * 100.0 / ours.all_us.max(1e-9)
        });
        let middle = |name: &str, of: fn(&Slice) -> f64| {
            let middle = rows.find(name).map_or(0.0, |row| row.middle(of));
            format!("{middle:.1}")
        };
        table.row([
            label(rows.body),
            format!("{:.0}", rows.per_second(OURS)),
            format!("{:.0}", rows.per_second(BARE)),
            percent(cost),
            middle(OURS, |slice| slice.cpu_us),
            middle(BARE, |slice| slice.cpu_us),
            middle(OURS, |slice| slice.all_us),
            middle(BARE, |slice| slice.all_us),
            percent(of_all),
        ]);
        let what = |of: &str| format!("{}, what audit costs {of}", label(rows.body));
        goals.push(Goal::at_most(what("in requests/s"), 5.0, cost, " %"));
        goals.push(Goal::at_most(
            what("of all processor time"),
            5.0,
            of_all,
            " %",
        ));
    }
    table.print(out);
}

fn half_load(out: &mut String, results: &[Rows], over: &str, goals: &mut Vec<Goal>) {
    let mut table = Table::new(&[
        "body",
        "server",
        "req/s",
        "p50 ms",
        "p99 ms",
        "p99 of all ms",
        "failed",
    ]);
    for rows in results {
        for row in &rows.rows {
            let all = row.all();
            let added = |share: f64| {
                rows.compare(&row.name, HYPER, |one, hyper| {
                    one.ms(share) - hyper.ms(share)
                })
            };
            let cell = |share: f64| {
                let each = row.middle(|slice| slice.measured.ms(share));
                format!("{each:.3} ({:+.3})", added(share).middle)
            };
            table.row([
                label(rows.body),
                row.name.clone(),
                format!("{:.0}", rows.rate),
                cell(0.5),
                cell(0.99),
                format!("{:.3}", all.ms(0.99)),
                all.failed.to_string(),
            ]);
            if row.name == OURS {
                let what = |which: &str| {
                    format!("{}{over}, added at half load, {which}", label(rows.body))
                };
                goals.push(Goal::at_most(what("p50"), 0.3, added(0.5), " ms"));
                goals.push(Goal::at_most(what("p99"), 1.0, added(0.99), " ms"));
            }
        }
    }
    table.print(out);
}

fn alone(out: &mut String, rows: &Rows, goals: &mut Vec<Goal>) {
    if rows.rows.is_empty() {
        return;
    }
    out.push_str("\n## One connection, 400 KB\n\n");
    let mut table = Table::new(&["server", "p50 ms", "added to direct", "p99 ms"]);
    let added =
        |name: &str| rows.compare(name, "direct", |one, direct| one.ms(0.5) - direct.ms(0.5));
    for row in &rows.rows {
        table.row([
            row.name.clone(),
            format!("{:.3}", row.middle(|slice| slice.measured.ms(0.5))),
            format!("{:+.3}", added(&row.name).middle),
            format!("{:.3}", row.all().ms(0.99)),
        ]);
    }
    table.print(out);
    let pruned = "secateur, m7";
    if rows.find(pruned).is_some() {
        let what = "400 KB with M7, added to direct, p50";
        goals.push(Goal::at_most(what, 3.0, added(pruned), " ms"));
    }
}
