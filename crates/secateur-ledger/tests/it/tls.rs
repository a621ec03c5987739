//! TLS to a real PostgreSQL that takes nothing else: an address that asks for it gets it, with the
//! certificate checked, or nothing.

use crate::suite::{open, row};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use secateur_ledger::testing::{Postgres, eventually};
use secateur_ledger::{Ledger, LedgerError};
use std::path::Path;
use std::time::Duration;

/// A server whose certificate is for these names; the authority's certificate is written to `ca_file`.
fn server_named(names: &[&str], ca_file: &Path) -> Postgres {
    let ca_key = KeyPair::generate().unwrap();
    let mut ca = CertificateParams::new(Vec::new()).unwrap();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    std::fs::write(ca_file, ca.self_signed(&ca_key).unwrap().pem()).unwrap();
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new(names).unwrap();
    let certificate = leaf.signed_by(&key, &Issuer::new(ca, ca_key)).unwrap();
    Postgres::launch_with_tls(&certificate.pem(), &key.serialize_pem())
}

/// Why nothing can be asked over this address.
async fn refusal(url: &str) -> String {
    Ledger::open_for_reading(url, None)
        .await
        .unwrap_err()
        .to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_go_to_a_server_that_takes_nothing_but_tls() {
    let folder = tempfile::tempdir().unwrap();
    let ca_file = folder.path().join("the ca.pem");
    let server = server_named(&["127.0.0.1"], &ca_file);
    let plain = server.first_database();
    let spelled = ca_file.display().to_string().replace(' ', "%20");
    for mode in ["verify-full", "require", "verify-ca"] {
        let url = format!("{plain}?sslmode={mode}&sslrootcert={spelled}");
        let ledger = open(&url, &folder.path().join("spool")).await;
        ledger.record(row(1));
        ledger.flush().await;
        eventually("the row is home", Duration::from_secs(30), || {
            let stats = ledger.stats();
            stats.queued == 0 && stats.spooled == 0
        });
        assert_eq!(ledger.row(&row(1).id).await.unwrap(), Some(row(1)));
        ledger.close().await;
    }
    // The server itself says that it takes nobody without.
    let refused = refusal(&plain).await;
    assert!(refused.contains("no encryption"), "{refused}");
    // Not signed by anybody whom this machine knows.
    let stranger = refusal(&format!("{plain}?sslmode=require")).await;
    assert!(stranger.contains("certificate"), "{stranger}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_for_another_name_is_good_for_verify_ca_alone() {
    let folder = tempfile::tempdir().unwrap();
    let ca_file = folder.path().join("ca.pem");
    let server = server_named(&["elsewhere.example"], &ca_file);
    let url = |mode: &str| {
        let (plain, ca_file) = (server.first_database(), ca_file.display());
        format!("{plain}?sslmode={mode}&sslrootcert={ca_file}")
    };
    for mode in ["verify-full", "require"] {
        let refused = refusal(&url(mode)).await;
        assert!(refused.contains("not valid for name"), "{mode}: {refused}");
    }
    // It gets through, to a database without a ledger.
    let through = refusal(&url("verify-ca")).await;
    assert!(through.contains("there is no ledger"), "{through}");
    // The name does not matter, the signer does.
    let other_ca = folder.path().join("other.pem");
    let key = KeyPair::generate().unwrap();
    let other = CertificateParams::new(Vec::new()).unwrap();
    std::fs::write(&other_ca, other.self_signed(&key).unwrap().pem()).unwrap();
    let plain = server.first_database();
    let stranger = format!(
        "{plain}?sslmode=verify-ca&sslrootcert={}",
        other_ca.display()
    );
    let refused = refusal(&stranger).await;
    assert!(refused.contains("invalid peer certificate"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_tls_is_not_used_where_tls_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let ca_file = folder.path().join("ca.pem");
    let key = KeyPair::generate().unwrap();
    let ca = CertificateParams::new(Vec::new()).unwrap();
    std::fs::write(&ca_file, ca.self_signed(&key).unwrap().pem()).unwrap();
    let url = Postgres::shared().new_database();
    let url = format!("{url}?sslmode=require&sslrootcert={}", ca_file.display());
    let refused = refusal(&url).await;
    assert!(refused.contains("does not support TLS"), "{refused}");
    // A proxy starts all the same, and keeps its rows on disk.
    let ledger = open(&url, &folder.path().join("spool")).await;
    ledger.record(row(1));
    ledger.flush().await;
    let stats = ledger.stats();
    assert_eq!((stats.written, stats.spooled), (0, 1), "{stats:?}");
    assert!(matches!(
        ledger.row("x").await,
        Err(LedgerError::Unreachable(_))
    ));
}
