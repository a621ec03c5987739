//! Where the window begins.

use crate::read::dialect::Dialect;
use crate::strategy::tests::bodies::{Pruned, Say, exchange, model, pruned, user};

fn run(dialect: Dialect, says: &[Say], max_turns: usize) -> Pruned {
    let policy = format!(
        "strategies = [\"turns-outside-window\"]\n[turns-outside-window]\nmax_turns = {max_turns}\n"
    );
    pruned(dialect, says, &policy)
}

/// user, call, result, answer, three times over.
fn session() -> Vec<Say> {
    let mut says = Vec::new();
    for at in 0..3 {
        says.push(user(&format!("question {at}")));
        says.extend(exchange("read", &format!("result {at}")));
        says.push(model(&format!("answer {at}")));
    }
    says
}

#[test]
fn the_cut_moves_earlier_until_it_splits_no_pair_and_a_user_speaks() {
    for dialect in Dialect::ALL {
        for (max_turns, first, count) in [
            (12, "question 0", 12),
            (11, "question 0", 12),
            (9, "question 0", 12),
            // Exactly on a user turn.
            (8, "question 1", 8),
            // On an answer, between a call and its result, and on a call.
            (5, "question 1", 8),
            (6, "question 1", 8),
            (7, "question 1", 8),
            (4, "question 2", 4),
            (2, "question 2", 4),
            (1, "question 2", 4),
            (0, "question 2", 4),
        ] {
            let found = run(dialect, &session(), max_turns);
            assert_eq!(found.turns[0], first, "{dialect} {max_turns}");
            assert_eq!(found.turns.len(), count, "{dialect} {max_turns}");
        }
    }
}

#[test]
fn the_last_turn_stays_whatever_the_number() {
    for dialect in Dialect::ALL {
        let found = run(dialect, &[user("a"), model("b"), user("c")], 0);
        assert_eq!(found.turns, ["c"], "{dialect}");
    }
}

#[test]
fn an_open_exchange_stays_with_the_user_turn_that_began_it() {
    let mut says = session();
    says.push(user("question 3"));
    says.extend(exchange("read", "one"));
    says.extend(exchange("read", "two"));
    for dialect in Dialect::ALL {
        let found = run(dialect, &says, 1);
        let expected = ["question 3", "call read", "one", "call read", "two"];
        assert_eq!(found.turns, expected, "{dialect}");
    }
}

#[test]
fn a_turn_with_an_image_stays() {
    let mut says = vec![user("task"), model("ok"), Say::Picture, model("seen")];
    says.extend(session());
    for dialect in Dialect::ALL {
        let found = run(dialect, &says, 4);
        assert_eq!(found.turns[0], "picture", "{dialect}");
        assert_eq!(found.turns[1], "question 2", "{dialect}");
    }
}
