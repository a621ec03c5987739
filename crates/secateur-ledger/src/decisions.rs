//! Switching stacks and mechanics off and on, and reading all of it.

use crate::control::{Controls, Retired, StackEvent, StackEventKind, Switch};
use crate::error::LedgerError;
use crate::row::Millis;
use crate::scores::add_event;
use crate::store::{Store, Value, in_transaction};

pub(crate) fn controls(store: &mut dyn Store) -> Result<Controls, LedgerError> {
    let retired = store.query(
        "SELECT workload, stack, at_ms, reason FROM retired ORDER BY workload, stack",
        &[],
    )?;
    let switches = store.query(
        "SELECT workload, mechanic, is_on, at_ms, by_whom FROM switch ORDER BY workload, mechanic",
        &[],
    )?;
    let retired = retired.into_iter().map(|values| {
        let mut from = values.into_iter();
        let mut take = || from.next().unwrap_or(Value::Null);
        Ok(Retired {
            workload: take().into_text()?,
            stack: take().into_text()?,
            at: take().into_int()?,
            reason: take().into_text()?,
        })
    });
    let switches = switches.into_iter().map(|values| {
        let mut from = values.into_iter();
        let mut take = || from.next().unwrap_or(Value::Null);
        Ok(Switch {
            workload: take().into_text()?,
            mechanic: take().into_text()?,
            is_on: take().into_bool()?,
            at: take().into_int()?,
            by: take().into_text()?,
        })
    });
    Ok(Controls {
        retired: retired.collect::<Result<_, LedgerError>>()?,
        switches: switches.collect::<Result<_, LedgerError>>()?,
    })
}

/// The event is written only by the replica whose decision was the first.
pub(crate) fn retire(
    store: &mut dyn Store,
    retired: &Retired,
    event: &StackEvent,
) -> Result<bool, LedgerError> {
    in_transaction(store, |store| {
        let changed = store.execute(
            "INSERT INTO retired (workload, stack, at_ms, reason) VALUES ($1, $2, $3, $4) \
             ON CONFLICT DO NOTHING",
            &[
                Value::text(&retired.workload),
                Value::text(&retired.stack),
                Value::Int(retired.at),
                Value::text(&retired.reason),
            ],
        )?;
        if changed > 0 {
            add_event(store, event)?;
        }
        Ok(changed > 0)
    })
}

pub(crate) fn resume(
    store: &mut dyn Store,
    workload: &str,
    stack: &str,
    by: &str,
    at: Millis,
) -> Result<bool, LedgerError> {
    in_transaction(store, |store| {
        let changed = store.execute(
            "DELETE FROM retired WHERE workload = $1 AND stack = $2",
            &[Value::text(workload), Value::text(stack)],
        )?;
        if changed > 0 {
            let event = StackEvent {
                at,
                workload: workload.to_owned(),
                stack: stack.to_owned(),
                kind: StackEventKind::Resumed,
                reason: "switched on again".to_owned(),
                mean: None,
                samples: None,
                by: Some(by.to_owned()),
            };
            add_event(store, &event)?;
        }
        Ok(changed > 0)
    })
}

pub(crate) fn set_switch(store: &mut dyn Store, switch: &Switch) -> Result<(), LedgerError> {
    store.execute(
        "INSERT INTO switch (workload, mechanic, is_on, at_ms, by_whom) VALUES ($1, $2, $3, $4, $5) \
         ON CONFLICT (workload, mechanic) DO UPDATE SET \
         is_on = excluded.is_on, at_ms = excluded.at_ms, by_whom = excluded.by_whom",
        &[
            Value::text(&switch.workload),
            Value::text(&switch.mechanic),
            Value::Bool(switch.is_on),
            Value::Int(switch.at),
            Value::text(&switch.by),
        ],
    )?;
    Ok(())
}

pub(crate) fn clear_switch(
    store: &mut dyn Store,
    workload: &str,
    mechanic: &str,
) -> Result<(), LedgerError> {
    store.execute(
        "DELETE FROM switch WHERE workload = $1 AND mechanic = $2",
        &[Value::text(workload), Value::text(mechanic)],
    )?;
    Ok(())
}
