//! The members of a body's top-level object, as spans, and the two splices that are made there.

use secateur_core::internal::json::{Cursor, JsonError, Kind, Limits, Span};

/// Where a member's value stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) value: Span,
    pub(super) kind: Kind,
}

/// An object's members, in order.
#[derive(Debug)]
pub(super) struct Object<'a> {
    body: &'a str,
    members: Vec<(String, Member)>,
    /// Where a new last member goes.
    end: usize,
}

impl<'a> Object<'a> {
    /// The top-level object of `body`.
    pub(super) fn read(body: &'a [u8]) -> Result<Self, JsonError> {
        let cursor = Cursor::new(body, &Limits::default())?;
        Self::at(cursor)
    }

    /// The object that is the value of a member.
    pub(super) fn inside(&self, member: Member) -> Result<Self, JsonError> {
        let mut cursor = Cursor::over(self.body, Limits::default().max_depth);
        // Stepping over what stands before keeps the cursor's grammar in step.
        let mut found = None;
        cursor.object(|cursor, _| {
            cursor.peek()?;
            if cursor.at() == member.value.start {
                found = Some(Self::at(cursor.fork()));
            }
            cursor.skip().map(drop)
        })?;
        found.unwrap_or_else(|| Self::at(cursor))
    }

    fn at(mut cursor: Cursor<'a>) -> Result<Self, JsonError> {
        let body = cursor.body();
        let mut members = Vec::new();
        let mut last = None;
        let whole = cursor.object(|cursor, key| {
            let kind = cursor.peek()?;
            let value = cursor.skip()?;
            last = Some(value.end);
            members.push((key.decode(body).into_owned(), Member { value, kind }));
            Ok::<_, JsonError>(())
        })?;
        let end = last.unwrap_or(whole.start + 1) as usize;
        Ok(Self { body, members, end })
    }

    /// The member of that name; the last one where a body has several, as most readers take it.
    pub(super) fn get(&self, name: &str) -> Option<Member> {
        let mut members = self.members.iter().rev();
        members
            .find(|(key, _)| key == name)
            .map(|&(_, member)| member)
    }

    /// The texts of all members of that name, whatever their case, each as written; lists of texts count as their texts.
    /// `None`: one of them is something else.
    pub(super) fn texts(&self, name: &str) -> Option<Vec<String>> {
        let mut texts = Vec::new();
        for (key, member) in &self.members {
            if !key.eq_ignore_ascii_case(name) || member.kind == Kind::Null {
                continue;
            }
            let value = &self.body[member.value.start as usize..member.value.end as usize];
            match serde_json::from_str(value).ok()? {
                serde_json::Value::String(text) => texts.push(text),
                serde_json::Value::Array(list) => {
                    for text in list {
                        texts.push(text.as_str()?.to_owned());
                    }
                }
                _ => return None,
            }
        }
        Some(texts)
    }

    /// The member of that name, where there is one and no more.
    pub(super) fn only(&self, name: &str) -> Option<Member> {
        let mut found = self.members.iter().filter(|(key, _)| key == name);
        let (_, member) = found.next()?;
        found.next().is_none().then_some(*member)
    }

    /// Whether a member of that name is there and not null.
    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name)
            .is_some_and(|member| member.kind != Kind::Null)
    }

    /// The body with a new last member of this object.
    pub(super) fn with_member(&self, name: &str, value: &str) -> String {
        let comma = if self.members.is_empty() { "" } else { "," };
        let (before, after) = self.body.split_at(self.end);
        format!("{before}{comma}\"{name}\":{value}{after}")
    }

    /// The body with another value in place of a member's.
    pub(super) fn with_value(&self, member: Member, value: &str) -> String {
        let before = &self.body[..member.value.start as usize];
        let after = &self.body[member.value.end as usize..];
        format!("{before}{value}{after}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inserts_behind_the_last_member_and_leaves_every_other_byte() {
        let body = "{ \"a\" : 1.0 , \"b\":{ } \n}";
        let object = Object::read(body.as_bytes()).unwrap();
        assert_eq!(
            object.with_member("c", "2"),
            "{ \"a\" : 1.0 , \"b\":{ },\"c\":2 \n}"
        );
        let inner = object.inside(object.get("b").unwrap()).unwrap();
        assert_eq!(
            inner.with_member("c", "2"),
            "{ \"a\" : 1.0 , \"b\":{\"c\":2 } \n}"
        );
        assert_eq!(
            object.with_value(object.get("a").unwrap(), "3"),
            "{ \"a\" : 3 , \"b\":{ } \n}"
        );
        assert_eq!(
            Object::read(b" {} ").unwrap().with_member("c", "2"),
            " {\"c\":2} "
        );
        assert!(Object::read(b"[]").is_err());
    }
}
