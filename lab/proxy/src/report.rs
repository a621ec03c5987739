//! The runs, and what is printed of them.

use std::io::Write;

use crate::bodies::chat;
use crate::load::{Measured, Shot, closed, paced};
use crate::process::Server;
use crate::{Options, Outcome, nginx};

const PATH: &str = "/v1/chat/completions";

struct Lane {
    name: String,
    url: String,
}

pub(crate) async fn run(options: &Options) -> Outcome<()> {
    let mut out = std::io::stdout();
    let upstream = Server::start("serve-upstream", "").await?;
    let passthrough = Server::start("serve-passthrough", &upstream.url).await?;
    let secateur = Server::start("serve-secateur", &upstream.url).await?;
    let idle_mb = secateur.resident_mb();
    let nginx = nginx::start(&upstream.url).await?;
    let mut lanes = vec![
        Lane {
            name: "direct".into(),
            url: format!("{}{PATH}", upstream.url),
        },
        Lane {
            name: "hyper".into(),
            url: format!("{}{PATH}", passthrough.url),
        },
        Lane {
            name: "secateur".into(),
            url: format!("{}{PATH}", secateur.url),
        },
        Lane {
            name: "secateur m7".into(),
            url: format!("{}/w/pruned{PATH}", secateur.url),
        },
    ];
    match &nginx {
        Some(nginx) => lanes.push(Lane {
            name: "nginx".into(),
            url: format!("{}{PATH}", nginx.url),
        }),
        None => writeln!(out, "nginx is not installed: left out")?,
    }
    lanes.extend(options.peers.iter().map(|(name, url)| Lane {
        name: name.clone(),
        // The benchmark's upstream has a port of its own in every run.
        url: url.replace("UPSTREAM", &upstream.url),
    }));
    writeln!(out, "upstream {}", upstream.url)?;
    if std::env::var_os("LAB_WAIT").is_some() {
        writeln!(out, "waiting 20 s for peers to be pointed at it")?;
        out.flush()?;
        tokio::time::sleep(std::time::Duration::from_secs(20)).await;
    }
    writeln!(
        out,
        "{:<24} {:<14} {:>10} {:>9} {:>9} {:>9} {:>7}",
        "body", "server", "req/s", "of hyper", "p50 ms", "p99 ms", "failed"
    )?;
    let mut half_rates = Vec::new();
    for (size, stream) in [
        (1_000, false),
        (100_000, false),
        (400_000, false),
        (1_000, true),
        (100_000, true),
        (400_000, true),
    ] {
        let label = format!("{} KB{}", size / 1000, if stream { ", events" } else { "" });
        let body = chat(size);
        let mut hyper = 0.0;
        for lane in &lanes {
            let shot = Shot {
                url: lane.url.clone(),
                body: body.clone(),
                stream,
            };
            let measured = closed(&shot, options.connections, options.seconds).await;
            if lane.name == "hyper" {
                hyper = measured.per_second;
            }
            row(&mut out, &label, &lane.name, &measured, hyper)?;
        }
        half_rates.push((label, body, stream, hyper / 2.0));
    }
    writeln!(
        out,
        "\nat half of hyper's load, from the moment a request was due; added to hyper's own"
    )?;
    for (label, body, stream, rate) in half_rates {
        let mut base: Option<Measured> = None;
        for lane in lanes
            .iter()
            .filter(|lane| ["hyper", "secateur", "nginx"].contains(&lane.name.as_str()))
        {
            let shot = Shot {
                url: lane.url.clone(),
                body: body.clone(),
                stream,
            };
            let measured = paced(&shot, rate, options.seconds).await;
            let (p50, p99) = base.as_ref().map_or((0.0, 0.0), |base| {
                (measured.p50_ms - base.p50_ms, measured.p99_ms - base.p99_ms)
            });
            writeln!(
                out,
                "{label:<24} {:<14} {:>10.0} p50 {:>7.3} (+{p50:.3}) p99 {:>7.3} (+{p99:.3}) failed {}",
                lane.name, rate, measured.p50_ms, measured.p99_ms, measured.failed
            )?;
            base.get_or_insert(measured);
        }
    }
    writeln!(out, "\none connection, 400 KB")?;
    let mut base = 0.0;
    for lane in lanes.iter().take(4) {
        let shot = Shot {
            url: lane.url.clone(),
            body: chat(400_000),
            stream: false,
        };
        let measured = closed(&shot, 1, options.seconds).await;
        if lane.name == "direct" {
            base = measured.p50_ms;
        }
        writeln!(
            out,
            "{:<14} p50 {:>7.3} ms (+{:.3})",
            lane.name,
            measured.p50_ms,
            measured.p50_ms - base
        )?;
    }
    writeln!(
        out,
        "\nmemory of secateur: {idle_mb:.1} MB idle, {:.1} MB after the load",
        secateur.resident_mb()
    )?;
    Ok(())
}

fn row(
    out: &mut impl Write,
    label: &str,
    name: &str,
    measured: &Measured,
    hyper: f64,
) -> Outcome<()> {
    let share = if hyper > 0.0 {
        format!("{:.0} %", measured.per_second * 100.0 / hyper)
    } else {
        "-".to_owned()
    };
    writeln!(
        out,
        "{label:<24} {name:<14} {:>10.0} {share:>9} {:>9.3} {:>9.3} {:>7}",
        measured.per_second, measured.p50_ms, measured.p99_ms, measured.failed
    )?;
    out.flush()?;
    Ok(())
}
