//! What goes first.

use crate::read::dialect::Dialect;
use crate::strategy::tests::bodies::{Pruned, Say, exchange, model, pruned, user};

fn run(dialect: Dialect, says: &[Say], max_turns: usize) -> Pruned {
    let policy = format!(
        "strategies = [\"unimportant-turns\"]\n[unimportant-turns]\nmax_turns = {max_turns}\n"
    );
    pruned(dialect, says, &policy)
}

#[test]
fn the_older_of_equal_turns_goes_first() {
    let says: Vec<Say> = (0..10)
        .map(|at| match at % 2 {
            0 => user(&format!("u{at}")),
            _ => model(&format!("m{at}")),
        })
        .collect();
    for dialect in Dialect::ALL {
        let found = run(dialect, &says, 4);
        assert_eq!(found.turns, ["u6", "m7", "u8", "m9"], "{dialect}");
        let found = run(dialect, &says, 10);
        assert_eq!(found.turns.len(), 10, "{dialect}");
    }
}

#[test]
fn a_long_text_outlives_newer_short_ones() {
    let long = "w".repeat(1000);
    let says = [
        user(&long),
        model("a"),
        user("b"),
        model("c"),
        user("d"),
        model("e"),
        user("f"),
    ];
    for dialect in Dialect::ALL {
        let found = run(dialect, &says, 3);
        // 0.2 for the length against 0.5 × 4/7 and 0.5 × 5/7: the long one goes before them, but
        // after those at 1/7 and 2/7.
        assert_eq!(found.turns, ["d", "e", "f"], "{dialect}");
        let found = run(dialect, &says, 5);
        assert_eq!(
            found.turns,
            [long.as_str(), "c", "d", "e", "f"],
            "{dialect}"
        );
    }
}

#[test]
fn an_exchange_goes_whole_with_its_lowest_score() {
    let mut says = vec![user("task")];
    says.extend(exchange("read", "r"));
    says.extend([user("x"), model("y"), user("last")]);
    for dialect in Dialect::ALL {
        // Without the pair's rule the call (0.3 + 0.5 × 1/6) would outlive `x` (0.5 × 3/6); its
        // result (0.5 × 2/6) pulls it down.
        let found = run(dialect, &says, 3);
        assert_eq!(found.turns, ["x", "y", "last"], "{dialect}");
        // One turn too many takes two.
        let found = run(dialect, &says[..], 4);
        assert_eq!(found.turns, ["x", "y", "last"], "{dialect}");
    }
}

#[test]
fn the_last_user_turn_and_the_last_turn_stay() {
    for dialect in Dialect::ALL {
        let mut says = vec![user("a"), model("b"), user("last")];
        says.extend(exchange("read", "r"));
        let found = run(dialect, &says, 0);
        assert_eq!(found.turns, ["last", "call read", "r"], "{dialect}");
    }
}

#[test]
fn a_user_turn_that_the_order_needs_is_made_up_for() {
    // The exchange must stay (it is the last), and something of a user's must come before it where
    // the provider demands that; the count holds all the same.
    let mut says = vec![user("a"), model("long ".repeat(300).as_str()), user("b")];
    says.extend([model("c"), user("d"), model("e"), user("f"), model("g")]);
    for dialect in Dialect::ALL {
        let found = run(dialect, &says, 4);
        assert!(found.turns.len() <= 4, "{dialect}: {:?}", found.turns.len());
        assert!(found.turns.contains(&"f".to_owned()), "{dialect}");
    }
}
