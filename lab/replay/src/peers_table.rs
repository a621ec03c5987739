//! The peers against the published figures.

use secateur_replay::{PartKind, Policy, Pricing, Pruned, Session, replay};

use crate::bench::print_table;
use crate::oracle::Oracle;
use crate::peers;

/// The peers, with the published bill, worst, ids and lines in the name.
pub fn print(sessions: &[Session]) {
    let whole = |s: &Session, u: usize| Pruned::whole(s, u);
    let (mask, window) = (peers::mask_all_but_last(10), peers::sliding_window(20));
    let (adaptive, aggressive) = (peers::openclaw(false), peers::openclaw(true));
    let opencode = peers::Opencode;
    let clear = peers::ClearOver {
        trigger_tokens: 100_000.0,
        keep: 3,
    };
    let rounds = |keep, min_gain| peers::MaskInRounds { keep, min_gain };
    let (r25, r50, r30) = (rounds(10, 0.25), rounds(10, 0.5), rounds(30, 0.3));
    let rows: [(&str, &dyn Policy); 14] = [
        ("no pruning 1.000 1.00 1.000 1.000", &whole),
        ("mask all but 10 1.371 2.06 .955 .897", &mask),
        ("window 20 1.401 2.18 .842 .828", &window),
        ("tessera m7 1.014 1.28 .991 .997", &peers::tessera_m7),
        ("opencode 1.005 1.08 1.000 1.000", &opencode),
        ("openclaw adaptive .968 1.16 .994 .980", &adaptive),
        ("openclaw aggressive .860 1.43 .919 .812", &aggressive),
        ("clear over 100 k .866 1.17 .965 .917", &clear),
        ("mask in rounds 25 % .834 1.13 .964 .918", &r25),
        ("mask in rounds 50 % .830 1.01 .972 .934", &r50),
        ("keep 30, rounds 30 % .933 1.13 .987 .967", &r30),
        ("floor ~.65 .98 .89 .74", &peers::floor),
        ("oracle: results with no later line go at age 1", &Oracle),
        ("bound: no results at all", &without_results),
    ];
    let policies = rows.map(|(_, policy)| policy);
    let totals = replay(sessions, &policies, Pricing::default(), 0, &|_, _| {});
    let names = rows.iter().map(|(name, _)| *name);
    print_table(&names.zip(totals).collect::<Vec<_>>());
}

fn without_results(session: &Session, upto: usize) -> Pruned {
    let mut pruned = Pruned::whole(session, upto);
    for message in &mut pruned.messages {
        message.parts.retain(|p| p.kind != PartKind::ToolResult);
    }
    pruned
}
