//! A body that carries another one as its member `request`, beside the model's name: Gemini Code Assist.

use std::ops::Range;

use bytes::Bytes;
use secateur_core::internal::json::Kind;

use super::top_level::Object;

/// Where the inner body stands.
#[derive(Clone, Debug)]
pub(crate) struct Wrapping {
    whole: Bytes,
    inner: Range<usize>,
    /// The model that the outer body names.
    pub(crate) model: Option<String>,
}

impl Wrapping {
    /// `None`: there is no inner body, or it is not clear which one counts.
    pub(crate) fn of(whole: &Bytes) -> Option<Self> {
        let top = Object::read(whole).ok()?;
        let member = top.only("request").filter(|it| it.kind == Kind::Object)?;
        let model = top.texts("model")?.pop();
        Some(Self {
            whole: whole.clone(),
            inner: member.value.start as usize..member.value.end as usize,
            model,
        })
    }

    /// The inner body.
    pub(crate) fn inner(&self) -> Bytes {
        self.whole.slice(self.inner.clone())
    }

    /// The whole with another inner body.
    pub(crate) fn around(&self, inner: &[u8]) -> Bytes {
        let (before, after) = (
            &self.whole[..self.inner.start],
            &self.whole[self.inner.end..],
        );
        [before, inner, after].concat().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_inner_body_changes() {
        let whole =
            Bytes::from_static(br#"{ "model":"g" , "request" : {"contents":[]} ,"x":1.50}"#);
        let wrapping = Wrapping::of(&whole).unwrap();
        assert_eq!(wrapping.model.as_deref(), Some("g"));
        assert_eq!(wrapping.inner(), &br#"{"contents":[]}"#[..]);
        assert_eq!(wrapping.around(&wrapping.inner()), whole);
        let changed = wrapping.around(b"{}");
        assert_eq!(
            changed,
            &br#"{ "model":"g" , "request" : {} ,"x":1.50}"#[..]
        );
    }

    #[test]
    fn without_one_inner_body_there_is_none() {
        for body in [
            r#"{"contents":[]}"#,
            r#"{"request":[]}"#,
            r#"{"request":{},"request":{}}"#,
            "[",
        ] {
            assert!(
                Wrapping::of(&Bytes::from_static(body.as_bytes())).is_none(),
                "{body}"
            );
        }
    }
}
