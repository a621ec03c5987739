//! Options that document themselves.

/// One option as it is shown to people.
#[derive(Clone, Copy, Debug)]
pub struct OptionFact {
    /// Its key in a policy.
    pub key: &'static str,
    /// What it does, with its unit.
    pub about: &'static str,
    /// Its default, in the policy's own syntax.
    pub default: fn() -> String,
}

/// Declares an options struct: each field has a doc comment, a type and a default. Gives the struct,
/// its `Default`, its serde form (unknown keys are errors) and the list that help pages show.
macro_rules! options {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[doc = $doc:literal])+ $field:ident: $kind:ty = $default:expr,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            $($(#[doc = $doc])+ pub $field: $kind,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl $name {
            /// The options as they are shown to people.
            pub const OPTIONS: &'static [$crate::options::OptionFact] = &[
                $($crate::options::OptionFact {
                    key: stringify!($field),
                    about: concat!($($doc, "\n",)+),
                    default: || $crate::options::spell(&Self::default().$field),
                },)*
            ];
        }
    };
}

pub(crate) use options;

/// A value in the policy's own syntax.
pub(crate) fn spell(value: &impl serde::Serialize) -> String {
    let mut out = String::new();
    // Everything in an options struct can be written as TOML.
    match serde::Serialize::serialize(value, toml::ser::ValueSerializer::new(&mut out)) {
        Ok(_) => out,
        Err(_) => String::new(),
    }
}
