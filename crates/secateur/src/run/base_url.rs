//! Variables that name a base URL, for programs that we do not know.

/// A variable, and what comes after the workload's base URL in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) path: String,
}

/// `OPENAI_BASE_URL`, `MY_URL=/v1`. OpenAI's own libraries want the version in the base URL, the others do not.
pub(super) fn parse_variable(text: &str) -> Result<Variable, String> {
    let (name, path) = match text.split_once('=') {
        Some((name, path)) => (name, path.to_owned()),
        None if text.to_ascii_uppercase().contains("OPENAI") => (text, "/v1".to_owned()),
        None => (text, String::new()),
    };
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if name.is_empty() || !name.bytes().all(is_name) {
        return Err("write the name of a variable, like OPENAI_BASE_URL".to_owned());
    }
    if !path.is_empty() && !path.starts_with('/') {
        return Err("write a path behind the name, like MY_URL=/v1".to_owned());
    }
    Ok(Variable {
        name: name.to_owned(),
        path,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_appended_where_openais_libraries_want_it() {
        let path = |text| parse_variable(text).map(|variable| variable.path);
        assert_eq!(path("OPENAI_BASE_URL").unwrap(), "/v1");
        assert_eq!(path("ANTHROPIC_BASE_URL").unwrap(), "");
        assert_eq!(path("MY_URL=/v1beta").unwrap(), "/v1beta");
        assert_eq!(path("OPENAI_BASE_URL=").unwrap(), "");
        assert!(path("=x").is_err() && path("A B").is_err() && path("A=v1").is_err());
    }
}
