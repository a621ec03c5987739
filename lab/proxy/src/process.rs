//! Servers as processes of their own, found by the address that they print.

use std::io::Write;
use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::Outcome;

/// Tells the benchmark where this server listens.
pub(crate) fn announce(scheme: &str, addr: SocketAddr) -> Outcome<()> {
    let mut out = std::io::stdout();
    writeln!(out, "{scheme}://{addr}")?;
    out.flush()?;
    Ok(())
}

/// A server that ends with the benchmark.
pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) child: Child,
}

impl Server {
    /// Runs this program again in another role.
    pub(crate) async fn start(role: &[&str]) -> Outcome<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(role)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let out = child.stdout.take().ok_or("no output")?;
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line).await?;
        Ok(Self {
            url: line.trim().to_owned(),
            child,
        })
    }

    /// Memory that the process holds, in MB.
    pub(crate) fn resident_mb(&self) -> f64 {
        self.memory_mb("VmRSS:")
    }

    /// The most memory that it ever held, in MB.
    pub(crate) fn peak_mb(&self) -> f64 {
        self.memory_mb("VmHWM:")
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id().unwrap_or(0)
    }

    fn memory_mb(&self, key: &str) -> f64 {
        let Some(id) = self.child.id() else {
            return 0.0;
        };
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(key))
            .unwrap_or("0");
        let kib: f64 = line.trim().trim_end_matches(" kB").parse().unwrap_or(0.0);
        kib / 1024.0
    }
}

/// What a process has had of the processors, all of its threads together.
pub(crate) fn cpu_time(id: u32) -> Duration {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{id}/task")) else {
        return Duration::ZERO;
    };
    let nanos = |task: std::fs::DirEntry| -> Option<u64> {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse().ok()
    };
    Duration::from_nanos(tasks.filter_map(|task| nanos(task.ok()?)).sum())
}
