//! A real PostgreSQL for tests, of this crate and of others: started from the installed binaries, on a
//! free port, in a temporary folder, and ended with the process that started it.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot start its database must fail loudly"
)]

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A running server, or one that was stopped and may be started again.
#[derive(Debug)]
pub struct Postgres {
    bin: PathBuf,
    folder: tempfile::TempDir,
    port: u16,
    /// Whether it speaks TLS, and nothing else.
    is_encrypted: bool,
}

static DATABASES: AtomicU64 = AtomicU64::new(0);

impl Postgres {
    /// One server for all tests of a process.
    #[must_use]
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Postgres> = OnceLock::new();
        SHARED.get_or_init(Self::launch)
    }

    /// A server of one's own, for tests that stop it.
    ///
    /// # Panics
    /// If no PostgreSQL is installed, or it does not start.
    #[must_use]
    pub fn launch() -> Self {
        let server = Self::prepare();
        server.start();
        watch_over(&server);
        server
    }

    /// A server with this certificate and key (PEM) that takes nobody without TLS.
    ///
    /// # Panics
    /// If no PostgreSQL is installed, or it does not start.
    #[must_use]
    pub fn launch_with_tls(certificate: &str, key: &str) -> Self {
        let mut server = Self::prepare();
        server.is_encrypted = true;
        let data = PathBuf::from(server.data());
        let owner = fs::metadata(&data).expect("the data folder");
        for (name, text) in [
            ("server.crt", certificate),
            ("server.key", key),
            ("pg_hba.conf", "hostssl all all 127.0.0.1/32 trust\n"),
        ] {
            let path = data.join(name);
            fs::write(&path, text).expect("a file in the data folder");
            // The server takes no key that others may read.
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("permissions");
            std::os::unix::fs::chown(&path, Some(owner.uid()), Some(owner.gid()))
                .expect("the server's own file");
        }
        server.start();
        watch_over(&server);
        server
    }

    /// A server that is set up and not yet started.
    fn prepare() -> Self {
        let bin = newest_bin();
        let folder = tempfile::tempdir().expect("a temporary folder");
        let everybody = fs::Permissions::from_mode(0o777);
        fs::set_permissions(folder.path(), everybody)
            .expect("a folder that the postgres user may use");
        let port = TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .expect("a free port")
            .port();
        let server = Self {
            bin,
            folder,
            port,
            is_encrypted: false,
        };
        let data = server.data();
        server.run(
            "initdb",
            &[
                "-D",
                &data,
                "-U",
                "secateur",
                "-A",
                "trust",
                "-E",
                "UTF8",
                "--locale=C",
                "--no-sync",
            ],
        );
        server
    }

    fn data(&self) -> String {
        self.folder.path().join("data").display().to_string()
    }

    /// Starts it (again).
    pub fn start(&self) {
        let tls = if self.is_encrypted { "on" } else { "off" };
        let options = format!(
            "-p {} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c max_connections=200 -c ssl={tls}",
            self.port
        );
        let log = self.folder.path().join("log").display().to_string();
        self.run(
            "pg_ctl",
            &[
                "start",
                "-w",
                "-t",
                "60",
                "-D",
                &self.data(),
                "-o",
                &options,
                "-l",
                &log,
            ],
        );
    }

    /// Stops it as a power cut would.
    pub fn stop_immediately(&self) {
        self.run("pg_ctl", &["stop", "-m", "immediate", "-D", &self.data()]);
    }

    /// The address of the database that every server has.
    #[must_use]
    pub fn first_database(&self) -> String {
        format!("postgres://secateur@127.0.0.1:{}/postgres", self.port)
    }

    /// An empty database; its address.
    ///
    /// # Panics
    /// If it cannot be made.
    #[must_use]
    pub fn new_database(&self) -> String {
        let name = format!("ledger_{}", DATABASES.fetch_add(1, Ordering::Relaxed));
        let server = self.first_database();
        let create = format!("CREATE DATABASE {name}");
        // A client of its own thread: tests call this from within a runtime.
        std::thread::spawn(move || {
            let mut client =
                postgres::Client::connect(&server, postgres::NoTls).expect("a connection");
            client.batch_execute(&create).expect("a database");
        })
        .join()
        .expect("the thread");
        format!("postgres://secateur@127.0.0.1:{}/{name}", self.port)
    }

    /// The server refuses to run as root, so root runs it as the user of the package.
    fn run(&self, program: &str, arguments: &[&str]) {
        let program = self.bin.join(program);
        let is_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
        let mut command = if is_root {
            let mut command = Command::new("setpriv");
            command
                .args(["--reuid=postgres", "--regid=postgres", "--clear-groups"])
                .arg(&program);
            command
        } else {
            Command::new(&program)
        };
        let output = self.folder.path().join("output");
        let file = || {
            fs::File::options()
                .create(true)
                .append(true)
                .open(&output)
                .expect("an output file")
        };
        // The server keeps its output open: a pipe would never end.
        let status = command
            .args(arguments)
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(file())
            .stderr(file())
            .status();
        let is_fine = status.as_ref().is_ok_and(std::process::ExitStatus::success);
        if !is_fine {
            let said = fs::read_to_string(&output).unwrap_or_default();
            let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            panic!("{} failed ({status:?}):\n{said}\n{log}", program.display());
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if pid(&self.folder.path().join("data")).is_some() {
            self.stop_immediately();
        }
    }
}

fn pid(data: &Path) -> Option<u32> {
    fs::read_to_string(data.join("postmaster.pid"))
        .ok()?
        .lines()
        .next()?
        .parse()
        .ok()
}

/// A shared server is never dropped, and a killed test drops nothing: a small shell outlives the test
/// and ends the server after it.
fn watch_over(server: &Postgres) {
    let script = "while kill -0 \"$1\" 2>/dev/null; do sleep 0.5; done; \
                  read -r server < \"$2/data/postmaster.pid\" && kill -QUIT \"$server\"; sleep 1; rm -rf \"$2\"";
    let own = std::process::id().to_string();
    let folder = server.folder.path().display().to_string();
    let spawned = Command::new("setsid")
        .args(["sh", "-c", script, "sh", &own, &folder])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    assert!(spawned.is_ok(), "no watcher for the server: {spawned:?}");
}

fn newest_bin() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten();
    let mut bins: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    bins.retain(|bin| bin.join("initdb").exists());
    bins.sort();
    let on_path = || {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).find(|folder| folder.join("initdb").exists())
    };
    bins.pop().or_else(on_path).expect(
        "PostgreSQL is not installed: `./test` installs it, or `apt-get install postgresql`",
    )
}

/// Tries until it holds, for things that happen on other threads.
///
/// # Panics
/// If it does not hold in time.
pub fn eventually(what: &str, within: Duration, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + within;
    while !holds() {
        assert!(Instant::now() < end, "not within {within:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
