//! M1: a request that is small and simple goes to a cheaper model.
//!
//! Not a content mutation: only the model's name changes. It is off for any request that a mutating
//! mechanic could claim.

use std::collections::BTreeMap;

use secateur_core::dialect::{self, Dialect};
use secateur_core::internal::json::{Limits, escape_into};
use secateur_core::internal::view::PartKind;

use super::top_level::Object;

/// A workload's table and its rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelRoutes {
    /// From a model to a cheaper one.
    pub models: BTreeMap<String, String>,
    /// Larger bodies stay with their model.
    pub max_body_chars: usize,
}

/// What M1 says to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RouteDecision {
    /// It goes to this model.
    To(String),
    /// It stays, for this reason.
    Stays(&'static str),
}

impl ModelRoutes {
    /// Decides for one body. `path_model` is the model that the URL names, where it does.
    pub(crate) fn decide(
        &self,
        body: &[u8],
        dialect: Dialect,
        path_model: Option<&str>,
    ) -> RouteDecision {
        use RouteDecision::Stays;
        let Ok(view) = dialect::read(body, dialect, &Limits::default()) else {
            return Stays("unreadable");
        };
        let named = view.model();
        let Some(model) = path_model.or(named.as_deref()) else {
            return Stays("no-model");
        };
        let Some(cheaper) = self.models.get(model) else {
            return Stays("not-in-table");
        };
        if view.body_chars() > self.max_body_chars {
            return Stays("too-large");
        }
        let Ok(top) = Object::read(body) else {
            return Stays("unreadable");
        };
        let names_tools = ["tools", "functions", "toolConfig", "tool_choice"];
        let uses_tools = view.parts().iter().any(|part| {
            matches!(
                part.kind,
                PartKind::Call | PartKind::Result | PartKind::ServerTool
            )
        });
        if uses_tools || names_tools.iter().any(|name| top.has(name)) {
            return Stays("has-tools");
        }
        if view
            .parts()
            .iter()
            .any(|part| matches!(part.kind, PartKind::Media | PartKind::Opaque))
        {
            return Stays("has-media");
        }
        RouteDecision::To(cheaper.clone())
    }
}

/// The models that a body names: all of them, for servers differ in which of several members counts, and some try a list
/// (`models`) in turn. `None`: it is not an object, or a name is no text.
pub(crate) fn models_in_body(body: &[u8]) -> Option<Vec<String>> {
    let top = Object::read(body).ok()?;
    let mut names = top.texts("model")?;
    names.extend(top.texts("models")?);
    Some(names)
}

/// The body with another model's name; `None` where it names none.
pub(crate) fn in_body(body: &[u8], model: &str) -> Option<Vec<u8>> {
    let top = Object::read(body).ok()?;
    let member = top.get("model")?;
    let mut value = String::from("\"");
    escape_into(model, &mut value);
    value.push('"');
    Some(top.with_value(member, &value).into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(body: &str) -> RouteDecision {
        let routes = ModelRoutes {
            models: BTreeMap::from([("big".to_owned(), "small".to_owned())]),
            max_body_chars: 200,
        };
        routes.decide(body.as_bytes(), Dialect::OpenaiChat, None)
    }

    #[test]
    fn only_small_and_simple_requests_of_listed_models_move() {
        let body = r#"{"model":"big","messages":[{"role":"user","content":"hi"}]}"#;
        assert_eq!(decide(body), RouteDecision::To("small".into()));
        let stays =
            |body: &str, reason| assert_eq!(decide(body), RouteDecision::Stays(reason), "{body}");
        stays(&body.replace("big", "other"), "not-in-table");
        stays(&body.replace("hi", &"x".repeat(300)), "too-large");
        stays(
            &body.replace(r#""model""#, r#""tools":[{}],"model""#),
            "has-tools",
        );
        stays(
            &body.replace(r#""hi""#, r#"[{"type":"image_url","image_url":{}}]"#),
            "has-media",
        );
        stays("[", "unreadable");
    }

    #[test]
    fn only_the_name_changes() {
        let body = br#"{ "messages":[], "model" : "big" , "x":1.50}"#;
        let out = in_body(body, "sm\"all").unwrap();
        assert_eq!(out, br#"{ "messages":[], "model" : "sm\"all" , "x":1.50}"#);
        assert_eq!(in_body(b"{}", "x"), None);
    }

    #[test]
    fn all_models_that_a_body_names_are_found() {
        let named = |body: &str| models_in_body(body.as_bytes()).map(|names| names.join(" "));
        let some = |names: &str| Some(names.to_owned());
        assert_eq!(named(r#"{"model":"a"}"#), some("a"));
        assert_eq!(named(r#"{"model":"a","m\u006fdel":"b"}"#), some("a b"));
        assert_eq!(
            named(r#"{"model":"a","Model":"b","x":{"model":"c"}}"#),
            some("a b")
        );
        assert_eq!(named(r#"{"model":"a","models":["b","c"]}"#), some("a b c"));
        assert_eq!(named(r#"{"messages":[],"model":null}"#), some(""));
        for unreadable in [
            r#"{"model":5}"#,
            r#"{"model":"a","models":[{}]}"#,
            "[]",
            "{",
            "",
        ] {
            assert_eq!(named(unreadable), None, "{unreadable}");
        }
    }
}
