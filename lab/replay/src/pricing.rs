//! The same outputs, priced with four caches: why the cache of the provider has to be the one that decides.
//!
//! The engine decides for a plain prefix cache, as it did before it knew the providers' rules, with the limits that
//! `steady` had then. The first column prices that with the cache it was made for, the others with the real one.

use secateur_core::policy::PolicyError;
use secateur_replay::{CacheAssumption, Policy as Replayed, Pricing, Session, replay};

use crate::bench::{engine, resolve};

/// The model that stands in for Claude, so that a setting can say how its cache is taken to work.
const MODEL: &str = "claude-4-lab";

/// `steady` as it was.
const BEFORE: &str = "stale-results.min_chars=500;stale-results.past_files=24;stale-results.searches=2;\
    stale-results.edits=8;long-arrivals.max_chars=8000;long-arrivals.keep_chars=8000;\
    long-arrivals.max_search_chars=4000;long-arrivals.keep_search_chars=3000";

pub fn print(sessions: &[Session]) -> Result<(), PolicyError> {
    let mut sessions = sessions.to_vec();
    for session in &mut sessions {
        session.model = Some(MODEL.to_owned());
    }
    let plain = format!("models.{MODEL}.cache_kind=automatic");
    let rows = [
        ("steady-lossless", format!("steady-lossless;{plain}")),
        (
            "steady, for a plain prefix",
            format!("steady;{plain};{BEFORE}"),
        ),
        ("steady", "steady".to_owned()),
    ];
    let columns = [
        (CacheAssumption::PlainPrefix, false),
        (CacheAssumption::Provider, false),
        (CacheAssumption::Provider, true),
        (CacheAssumption::UnlimitedReach, true),
    ];
    println!(
        "{:28} plain prefix    the provider's  with pauses     any reach",
        ""
    );
    for (name, setting) in rows {
        let policy = resolve(&setting)?;
        let body = engine(&policy);
        print!("{name:28}");
        for (cache, with_pauses) in columns {
            let pricing = Pricing { cache, with_pauses };
            let policies: [&dyn Replayed; 1] = [&body];
            for total in replay(&sessions, &policies, pricing, 0, &|_, _| {}) {
                print!(
                    " {:.3} {:.3} {:>3}",
                    total.bill(),
                    total.worst(),
                    total.over()
                );
            }
        }
        println!();
    }
    println!("each: bill, worst session, sessions over 1");
    Ok(())
}
