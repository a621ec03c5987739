//! A JSON value whose members keep their order and whose numbers keep their spelling.

/// A JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number as it is written.
    Num(String),
    /// A string, decoded.
    Str(String),
    /// An array.
    Arr(Vec<Json>),
    /// An object.
    Obj(Vec<(String, Json)>),
}

impl Json {
    /// A string.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Str(text.into())
    }

    /// An object of these members.
    #[must_use]
    pub fn object<const N: usize>(members: [(&str, Self); N]) -> Self {
        Self::Obj(members.map(|(key, value)| (key.to_owned(), value)).into())
    }

    /// The object with one more member at its end; other values stay as they are.
    #[must_use]
    pub fn with(mut self, key: &str, value: Self) -> Self {
        if let Self::Obj(members) = &mut self {
            members.push((key.to_owned(), value));
        }
        self
    }

    /// [`Json::with`], where the condition holds.
    #[must_use]
    pub fn with_if(self, condition: bool, key: &str, value: Self) -> Self {
        if condition {
            self.with(key, value)
        } else {
            self
        }
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::Str(text.to_owned())
    }
}
