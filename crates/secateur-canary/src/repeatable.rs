//! Whether a request can be sent a second time without doing anything twice.

use serde::Deserialize;
use serde::de::IgnoredAny;

#[derive(Deserialize)]
struct Looked {
    /// The provider appends the turn to a conversation that it keeps.
    #[serde(default)]
    conversation: Option<IgnoredAny>,
    #[serde(default)]
    background: Option<bool>,
    /// Tools that the provider calls on other servers.
    #[serde(default)]
    mcp_servers: Option<Vec<IgnoredAny>>,
    #[serde(default)]
    tools: Option<Vec<Tool>>,
}

#[derive(Deserialize)]
struct Tool {
    #[serde(default, rename = "type")]
    kind: Option<String>,
}

/// False for a body that makes the provider change something elsewhere, and for one that cannot be
/// read.
pub(super) fn is_repeatable(body: &[u8]) -> bool {
    let Ok(looked) = serde_json::from_slice::<Looked>(body) else {
        return false;
    };
    let acts = |tool: &Tool| {
        let kind = tool.kind.as_deref().unwrap_or_default();
        kind.starts_with("mcp") || kind.starts_with("code_")
    };
    looked.conversation.is_none()
        && looked.background != Some(true)
        && looked.mcp_servers.is_none_or(|servers| servers.is_empty())
        && !looked.tools.is_some_and(|tools| tools.iter().any(acts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_act_elsewhere_are_not_repeated() {
        for (body, expected) in [
            (
                r#"{"messages":[],"tools":[{"type":"function"},{"name":"x"}]}"#,
                true,
            ),
            (
                r#"{"conversation":null,"background":false,"mcp_servers":[]}"#,
                true,
            ),
            (r#"{"conversation":"conv_1"}"#, false),
            (r#"{"background":true}"#, false),
            (
                r#"{"tools":[{"type":"mcp","server_url":"https://x"}]}"#,
                false,
            ),
            (r#"{"mcp_servers":[{"url":"https://x"}]}"#, false),
            ("not json", false),
        ] {
            assert_eq!(is_repeatable(body.as_bytes()), expected, "{body}");
        }
    }
}
