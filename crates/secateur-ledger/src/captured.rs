//! Text that was cut, kept for recall. Encrypted; limited by size and age per workload. What is gone
//! leaves its id behind, so that a dead id is told from one that never was.

use std::collections::BTreeMap;

use crate::error::LedgerError;
use crate::options::CaptureLimits;
use crate::row::Millis;
use crate::seal::Seal;
use crate::store::{Store, Value, in_transaction};

/// One text that was cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedCut {
    /// The id in the placeholder. Unique in its workload: a second text with it is the same text.
    pub id: String,
    /// The request in which it was cut first.
    pub request: String,
    /// Its conversation.
    pub session: Option<String>,
    /// Its workload.
    pub workload: String,
    /// When it was cut last.
    pub at: Millis,
    /// The text.
    pub text: String,
    /// What stands in its place; `None`: nothing does, or it is not known.
    pub after: Option<String>,
}

impl CapturedCut {
    /// What counts towards the workload's limit.
    fn bytes(&self) -> u64 {
        (self.text.len() + self.after.as_ref().map_or(0, String::len)) as u64
    }
}

/// What the text in its place is sealed under. No id of a cut text has such an end.
fn after_id(id: &str) -> String {
    format!("{id}/after")
}

/// What an id leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recalled {
    /// It is there.
    Text {
        /// What was cut.
        text: String,
        /// What stands in its place, where that is known.
        after: Option<String>,
        /// The request in which it was cut.
        request: String,
        /// When.
        at: Millis,
    },
    /// It was there, until the workload's limits took it.
    Expired {
        /// When it was taken.
        at: Millis,
    },
    /// There never was such an id (or so long ago that its trace is gone too).
    Unknown,
}

/// How many texts are looked at for removal at once.
const EXPIRE_AT_ONCE: i64 = 500;

/// Keeps all of them in one transaction: most requests cut many texts.
pub(crate) fn capture(
    store: &mut dyn Store,
    seal: &Seal,
    limits: impl Fn(&str) -> CaptureLimits,
    cuts: &[CapturedCut],
    now: Millis,
) -> Result<(), LedgerError> {
    let mut sealed = Vec::with_capacity(cuts.len());
    for cut in cuts {
        let close_after = |after| seal.close(&cut.workload, &after_id(&cut.id), after);
        let after = cut.after.as_deref().map(close_after).transpose()?;
        let text = seal.close(&cut.workload, &cut.id, &cut.text)?;
        sealed.push((cut, text, after));
    }
    // In the same order everywhere, so that replicas cannot wait for each other in a circle.
    sealed.sort_by_key(|(cut, ..)| (&cut.workload, &cut.id));
    in_transaction(store, |store| {
        let mut added: BTreeMap<&str, u64> = BTreeMap::new();
        for (cut, text, after) in sealed {
            if keep(store, seal, cut, &text, after.as_deref(), now)? {
                *added.entry(&cut.workload).or_default() += cut.bytes();
            }
        }
        for (workload, bytes) in added {
            store.execute(
                "INSERT INTO captured_size (workload, bytes) VALUES ($1, $2) \
                 ON CONFLICT (workload) DO UPDATE SET bytes = captured_size.bytes + excluded.bytes",
                &[Value::text(workload), Value::count(bytes)],
            )?;
            expire(store, workload, limits(workload), now)?;
        }
        Ok(())
    })
}

/// Whether the text was not there. One that is there already lives on, unless it was sealed with another key.
fn keep(
    store: &mut dyn Store,
    seal: &Seal,
    cut: &CapturedCut,
    text: &[u8],
    after: Option<&[u8]>,
    now: Millis,
) -> Result<bool, LedgerError> {
    if insert(store, cut, text, after)? {
        return Ok(true);
    }
    if let Some(bytes) = sealed_otherwise(store, seal, cut)? {
        take(store, &cut.workload, &cut.id, bytes, now)?;
        return insert(store, cut, text, after);
    }
    // Its conversation goes on, so it is as good as new.
    store.execute(
        "UPDATE captured SET at_ms = $3 WHERE workload = $1 AND id = $2 AND at_ms < $3",
        &[
            Value::text(&cut.workload),
            Value::text(&cut.id),
            Value::Int(cut.at),
        ],
    )?;
    Ok(false)
}

/// The bytes of a text that is there and cannot be read with this key.
fn sealed_otherwise(
    store: &mut dyn Store,
    seal: &Seal,
    cut: &CapturedCut,
) -> Result<Option<i64>, LedgerError> {
    let found = store.query(
        "SELECT sealed, bytes FROM captured \
         WHERE workload = $1 AND id = $2 AND expired_at_ms IS NULL",
        &[Value::text(&cut.workload), Value::text(&cut.id)],
    )?;
    let Some(Ok([sealed, bytes])) = found.into_iter().next().map(<[Value<'_>; 2]>::try_from) else {
        return Ok(None);
    };
    let opened = seal.open(&cut.workload, &cut.id, &sealed.into_bytes()?);
    Ok(opened.is_err().then_some(bytes.into_int()?))
}

/// Whether it was not there, or had expired: a text that comes again lives again.
fn insert(
    store: &mut dyn Store,
    cut: &CapturedCut,
    text: &[u8],
    after: Option<&[u8]>,
) -> Result<bool, LedgerError> {
    let changed = store.execute(
        "INSERT INTO captured (workload, id, request_id, session, at_ms, bytes, sealed, sealed_after, expired_at_ms) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, NULL) \
         ON CONFLICT (workload, id) DO UPDATE SET request_id = excluded.request_id, \
         session = excluded.session, at_ms = excluded.at_ms, bytes = excluded.bytes, \
         sealed = excluded.sealed, sealed_after = excluded.sealed_after, expired_at_ms = NULL WHERE captured.expired_at_ms IS NOT NULL",
        &[
            Value::text(&cut.workload),
            Value::text(&cut.id),
            Value::text(&cut.request),
            Value::maybe_text(cut.session.as_deref()),
            Value::Int(cut.at),
            Value::count(cut.bytes()),
            Value::Bytes(text.into()),
            after.map_or(Value::Null, |after| Value::Bytes(after.into())),
        ],
    )?;
    Ok(changed > 0)
}

/// Takes one text of so many bytes; whether it was there.
fn take(
    store: &mut dyn Store,
    workload: &str,
    id: &str,
    bytes: i64,
    now: Millis,
) -> Result<bool, LedgerError> {
    let changed = store.execute(
        "UPDATE captured SET sealed = NULL, sealed_after = NULL, expired_at_ms = $3 \
         WHERE workload = $1 AND id = $2 AND expired_at_ms IS NULL",
        &[Value::text(workload), Value::text(id), Value::Int(now)],
    )?;
    if changed > 0 {
        store.execute(
            "UPDATE captured_size SET bytes = bytes - $2 WHERE workload = $1",
            &[Value::text(workload), Value::Int(bytes)],
        )?;
    }
    Ok(changed > 0)
}

/// Takes what is over the limits, oldest first. Within a transaction.
pub(crate) fn expire(
    store: &mut dyn Store,
    workload: &str,
    limits: CaptureLimits,
    now: Millis,
) -> Result<(), LedgerError> {
    let oldest_allowed = now.saturating_sub(age_ms(limits));
    let limit = i64::try_from(limits.max_bytes).unwrap_or(i64::MAX);
    loop {
        let size = store.query(
            "SELECT bytes FROM captured_size WHERE workload = $1",
            &[Value::text(workload)],
        )?;
        let mut size = size
            .into_iter()
            .flatten()
            .next()
            .map_or(Ok(0), Value::into_int)?;
        let found = store.query(
            "SELECT id, at_ms, bytes FROM captured WHERE workload = $1 AND expired_at_ms IS NULL \
             ORDER BY at_ms LIMIT $2",
            &[Value::text(workload), Value::Int(EXPIRE_AT_ONCE)],
        )?;
        let seen = found.len();
        let mut gone = 0;
        for values in found {
            let Ok([id, at, bytes]) = <[Value<'_>; 3]>::try_from(values) else {
                continue;
            };
            let (at, bytes) = (at.into_int()?, bytes.into_int()?);
            if at >= oldest_allowed && size <= limit {
                break;
            }
            if take(store, workload, &id.into_text()?, bytes, now)? {
                size -= bytes;
            }
            gone += 1;
        }
        if gone < seen || seen == 0 {
            return Ok(());
        }
    }
}

fn age_ms(limits: CaptureLimits) -> Millis {
    Millis::try_from(limits.max_age.as_millis()).unwrap_or(Millis::MAX)
}

/// A text that is over its age but not taken yet counts as gone.
pub(crate) fn recall(
    store: &mut dyn Store,
    seal: Option<&Seal>,
    limits: CaptureLimits,
    workload: &str,
    id: &str,
    now: Millis,
) -> Result<Recalled, LedgerError> {
    let found = store.query(
        "SELECT request_id, at_ms, sealed, sealed_after, expired_at_ms FROM captured WHERE workload = $1 AND id = $2",
        &[Value::text(workload), Value::text(id)],
    )?;
    let Some(Ok([request, at, sealed, after, expired])) =
        found.into_iter().next().map(<[Value<'_>; 5]>::try_from)
    else {
        return Ok(Recalled::Unknown);
    };
    if let Some(at) = expired.into_maybe_int()? {
        return Ok(Recalled::Expired { at });
    }
    let at = at.into_int()?;
    let end = at.saturating_add(age_ms(limits));
    if end < now {
        return Ok(Recalled::Expired { at: end });
    }
    let seal = seal.ok_or(LedgerError::NoCaptureKey)?;
    Ok(Recalled::Text {
        text: seal.open(workload, id, &sealed.into_bytes()?)?,
        after: open_after(seal, workload, id, after)?,
        request: request.into_text()?,
        at,
    })
}

fn open_after(
    seal: &Seal,
    workload: &str,
    id: &str,
    sealed: Value<'_>,
) -> Result<Option<String>, LedgerError> {
    match sealed {
        Value::Null => Ok(None),
        sealed => seal
            .open(workload, &after_id(id), &sealed.into_bytes()?)
            .map(Some),
    }
}

/// Ids that are looked for in one query, always as many, so that its text stays the same.
const IDS_AT_ONCE: usize = 100;

/// Those of the ids whose text is there.
pub(crate) fn still_there(
    store: &mut dyn Store,
    workload: &str,
    ids: &[String],
) -> Result<Vec<String>, LedgerError> {
    let slots: Vec<String> = (2..IDS_AT_ONCE + 2).map(|at| format!("${at}")).collect();
    let sql = format!(
        "SELECT id FROM captured WHERE workload = $1 AND expired_at_ms IS NULL AND id IN ({})",
        slots.join(", ")
    );
    let mut found = Vec::with_capacity(ids.len());
    for ids in ids.chunks(IDS_AT_ONCE) {
        let mut values = vec![Value::text(workload)];
        values.extend(ids.iter().map(|id| Value::text(id)));
        // What is left over asks for the last one again.
        let last = values.last().cloned().unwrap_or(Value::Null);
        values.resize(IDS_AT_ONCE + 1, last);
        for id in store.query(&sql, &values)?.into_iter().flatten() {
            found.push(id.into_text()?);
        }
    }
    Ok(found)
}

/// What was cut in a request and is still there, oldest first.
pub(crate) fn captured_of(
    store: &mut dyn Store,
    seal: Option<&Seal>,
    request: &str,
) -> Result<Vec<CapturedCut>, LedgerError> {
    let found = store.query(
        "SELECT workload, id, session, at_ms, sealed, sealed_after FROM captured \
         WHERE request_id = $1 AND expired_at_ms IS NULL ORDER BY at_ms, id",
        &[Value::text(request)],
    )?;
    let mut cuts = Vec::with_capacity(found.len());
    for values in found {
        let mut from = values.into_iter();
        let mut take = || from.next().unwrap_or(Value::Null);
        let workload = take().into_text()?;
        let id = take().into_text()?;
        let session = take().into_maybe_text()?;
        let at = take().into_int()?;
        let (sealed, after) = (take().into_bytes()?, take());
        let seal = seal.ok_or(LedgerError::NoCaptureKey)?;
        let text = seal.open(&workload, &id, &sealed)?;
        let after = open_after(seal, &workload, &id, after)?;
        cuts.push(CapturedCut {
            id,
            request: request.to_owned(),
            session,
            workload,
            at,
            text,
            after,
        });
    }
    Ok(cuts)
}
