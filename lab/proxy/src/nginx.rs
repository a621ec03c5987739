//! nginx as a peer, where it is installed.

use std::process::Stdio;

use tokio::process::{Child, Command};

use crate::Outcome;

/// A running nginx with a configuration of its own.
pub(crate) struct Nginx {
    pub(crate) url: String,
    _child: Child,
}

/// Starts nginx in front of `upstream`; `None` where there is none.
pub(crate) async fn start(upstream: &str) -> Outcome<Option<Nginx>> {
    let folder = std::env::temp_dir().join(format!("secateur-lab-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let port = std::net::TcpListener::bind("127.0.0.1:0")?
        .local_addr()?
        .port();
    let host = upstream.trim_start_matches("http://");
    let (place, config) = (folder.display(), folder.join("nginx.conf"));
    std::fs::write(
        &config,
        format!(
            "daemon off; worker_processes auto; pid {place}/pid; error_log {place}/error.log;\nevents {{ worker_connections 1024; }}\nhttp {{ access_log off; client_body_temp_path {place}/b; proxy_temp_path {place}/p; fastcgi_temp_path {place}/f; uwsgi_temp_path {place}/u; scgi_temp_path {place}/s; client_max_body_size 64m; client_body_buffer_size 1m; keepalive_requests 1000000;\nupstream u {{ server {host}; keepalive 64; keepalive_requests 1000000; }}\nserver {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://u; proxy_http_version 1.1; proxy_set_header Connection \"\"; proxy_buffering off; proxy_request_buffering off; }} }} }}\n"
        ),
    )?;
    let child = Command::new("nginx")
        .arg("-c")
        .arg(&config)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn();
    let Ok(child) = child else { return Ok(None) };
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    Ok(Some(Nginx {
        url: format!("http://127.0.0.1:{port}"),
        _child: child,
    }))
}
