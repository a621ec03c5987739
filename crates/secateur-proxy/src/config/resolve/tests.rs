use super::*;
use crate::config::Provider;

fn read(text: &str) -> Result<Config, ConfigError> {
    let env = |name: &str| match name {
        "SET" => Some("credential".to_owned()),
        "SET_KEY" => Some("0f".repeat(32)),
        _ => None,
    };
    Config::read("secateur.toml", text, Path::new("."), &env)
}

#[track_caller]
fn fails(text: &str, line: usize, says: &str) {
    let error = read(text).unwrap_err();
    assert_eq!(error.line, Some(line), "{error}");
    assert!(error.to_string().contains(says), "{error}");
}

#[test]
fn the_template_is_valid_and_so_is_an_empty_file() {
    let config = read(crate::config::TEMPLATE).unwrap();
    assert_eq!(config.max_body_bytes, 32 << 20);
    assert!(config.is_loopback() && !config.default_workload().has_mechanics());
    read("").unwrap();
}

#[test]
fn limits_have_defaults_and_can_be_set() {
    let config = read("[workload.w]\n").unwrap();
    assert_eq!(config.max_buffered_bytes, 1 << 30);
    assert_eq!(config.max_connections_per_address, 7_500);
    assert_eq!(config.timeouts.request_head, Duration::from_secs(10));
    let budget = config.workloads["w"].budget;
    assert_eq!(
        (budget, config.default_workload().budget),
        (TimeBudget::default(), budget)
    );
    let config = read(
        "max_connections = 2\nmax_buffered_mb = 3\n[timeouts]\nmin_bytes_per_s = 0\nresponse_write_s = 0.5\n[workload.w]\nbudget_ms = 7\nbudget_ms_per_mb = 0\n",
    )
    .unwrap();
    assert_eq!(config.max_connections_per_address, 1);
    assert_eq!(config.max_buffered_bytes, 3 << 20);
    let pace = config.timeouts.write_pace();
    assert_eq!(
        (pace.idle, pace.min_bytes_per_s),
        (Duration::from_millis(500), 0)
    );
    let seven = Duration::from_millis(7);
    assert_eq!(config.workloads["w"].budget.for_bytes(9 << 20), seven);
    fails("max_buffered_mb = 0\n", 1, "from 1");
    fails("[timeouts]\nrequest_head_s = 0\n", 2, "above 0");
}

#[test]
fn every_key_of_the_template_is_a_key() {
    let text: String = crate::config::TEMPLATE
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(rest)
                if rest.starts_with('[')
                    || rest
                        .split_once(" = ")
                        .is_some_and(|(key, _)| !key.contains(' ')) =>
            {
                rest
            }
            _ => line,
        })
        .map(|line| format!("{line}\n"))
        .collect();
    let text = text
        .replace("…64 hex digits…", &"0f".repeat(32))
        .replace("ANTHROPIC_API_KEY", "SET")
        .replace("OPENAI_API_KEY", "SET")
        .replace("OTLP_AUTHORIZATION", "SET")
        .replace("SECATEUR_PORTAL_TOKEN", "SET_KEY")
        .replace("SECATEUR_CAPTURE_KEY", "SET_KEY")
        .replace("url_env =", "# url_env =")
        .replace("policy_file =", "# policy_file =")
        .replace("ca_file =", "# ca_file =")
        .replace(
            "schema_file = \"answer.schema.json\"",
            "schema = '{\"type\":\"object\"}'",
        );
    let config = read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let workload = &config.workloads["agent"];
    assert!(workload.policy.is_some() && workload.routes.is_some() && workload.schema.is_some());
    assert_eq!(config.keys[0].credentials.len(), 2);
    assert!(config.otlp.is_some());
}

#[test]
fn errors_say_what_was_meant_and_name_no_types() {
    let text = "[workload.a]\npresett = \"steady\"\n";
    fails(text, 2, "unknown key `presett`: did you mean `preset`?");
    fails("max_body_mb = \"x\"\n", 1, "expected a whole number");
    fails("log = \"jsonn\"\n", 1, "did you mean `json`?");
}

#[test]
fn errors_name_the_line() {
    fails("listen = \"here\"\n", 1, "an address and a port");
    fails("\n\nlisten_on = 1\n", 3, "listen_on");
    fails("[upstream]\nopenai = \"ftp://x\"\n", 2, "http://");
    fails(
        "[upstream]\nopenai = \"https://user:pw@x\"\n",
        2,
        "credentials",
    );
    fails("[workload.a]\n\npreset = \"tesera\"\n", 3, "tessera");
    fails("[workload.a]\nbudget = 3\n", 2, "budget");
    fails(
        "[workload.a]\n[workload.a.policy.m7]\nenabled = true\n\n[workload.a.policy.middle-turns]\nkeep_last_turn = 1\n",
        6,
        "keep_last_turns",
    );
    fails(
        "[workload.a]\n[workload.a.policy]\n# a note\nmidle-turns.keep_last_turns = 1\n",
        4,
        "middle-turns",
    );
    fails("[workload.a]\npolicy.m7.enable = true\n", 2, "enabled");
    fails(
        "[[key]]\nname = \"a\"\nsha256 = \"12\"\n",
        3,
        "64 hexadecimal",
    );
    fails(
        &format!(
            "[[key]]\nname = \"a\"\nsha256 = \"{}\"\nworkload = \"b\"\n",
            "0".repeat(64)
        ),
        4,
        "no workload `b`",
    );
    fails(
        &format!(
            "[[key]]\nname = \"a\"\nsha256 = \"{}\"\nworkload = \"default\"\ncredential_env = {{ openai = \"NOT_SET\" }}\n",
            "0".repeat(64)
        ),
        5,
        "NOT_SET",
    );
    let key = |more: &str| {
        let digits = "0".repeat(64);
        format!("[[key]]\nname = \"team-a\"\nsha256 = \"{digits}\"\n{more}")
    };
    fails(&key(""), 2, "`team-a` names no workload");
    fails(
        &key("workload = \"default\"\nmodels = [\"\"]\n"),
        5,
        "key.models",
    );
    fails(
        &key("workload = \"default\"\npaths = [\"v1/files\"]\n"),
        5,
        "key.paths",
    );
    fails("[upstream]\nca_file = \"none.pem\"\n", 2, "none.pem");
    fails("[upstream]\n\nca_file = \"Cargo.toml\"\n", 3, "PEM");
    fails(
        "[workload.a]\nupstream.ca_file = \"x\"\n",
        2,
        "under [upstream]",
    );
    fails(
        "[upstream]\nhttp2_hosts = [\"api.openai.co\"]\n",
        2,
        "no upstream has the URL \"https://api.openai.co\"",
    );
    fails(
        "[upstream]\nopenai = \"http://inside\"\nhttp2_hosts = [\"inside\"]\n",
        3,
        "https://inside",
    );
    fails(
        "[workload.a]\nupstream.http2_hosts = [\"api.openai.com\"]\n",
        2,
        "under [upstream]",
    );
    fails("[workload.a.summary]\nwait = 1\n", 2, "wait_ms");
    fails("[summaries]\nmax_mb = 0\n", 2, "1 to");
    fails(
        "[workload.a]\n[workload.a.policy.summarized-turns]\nsummary = \"model\"\n",
        3,
        "summary_model",
    );
    fails("[timeouts]\nconnect_s = 0\n", 2, "above 0");
    fails("max_body_mb = 0\n", 1, "1 to");
    fails("[workload.\"a b\"]\n", 1, "letters");
    fails(
        "[workload.a.expected_schema]\nname = \"x\"\nschema = '{'\n",
        3,
        "expected_schema",
    );
}

#[test]
fn two_keys_are_not_one() {
    let key = |name: &str, digit: &str| {
        let digits = digit.repeat(64);
        format!("[[key]]\nname = \"{name}\"\nsha256 = \"{digits}\"\nworkload = \"default\"\n")
    };
    let told = |first: String, second: String| read(&(first + &second)).map_err(|e| e.to_string());
    let same = told(key("a", "0"), key("a", "1")).unwrap_err();
    assert!(same.contains("the name `a`"), "{same}");
    let same = told(key("a", "0"), key("b", "0")).unwrap_err();
    assert!(same.contains("`a` and `b` are the same"), "{same}");
    told(key("a", "0"), key("b", "1")).unwrap();
}

#[test]
fn a_workload_overrides_single_upstreams() {
    let config = read("[upstream]\nopenai = \"http://a\"\ngemini = \"http://g\"\n[workload.x]\nupstream.openai = \"http://b/v1\"\n").unwrap();
    let x = &config.workloads["x"].upstreams;
    assert_eq!(
        (
            x.of(Provider::Openai).unwrap().to_string(),
            x.of(Provider::Gemini).unwrap().host()
        ),
        ("http://b/v1".to_owned(), Some("g"))
    );
    assert!(x.is_built_in(Provider::Anthropic) && !x.is_built_in(Provider::Gemini));
    assert_eq!(x.of(Provider::Bedrock), None);
}

#[test]
fn a_token_of_the_portal_that_could_be_guessed_is_refused() {
    fails("[portal]\ntoken_env = \"SET\"\n", 2, "shorter than 16");
    read("[portal]\ntoken_env = \"SET_KEY\"\n").unwrap();
}

#[test]
fn without_a_ledger_nothing_is_captured_and_no_address_is_made_up() {
    let off = "[ledger]\nenabled = false\ncapture_key_env = \"SET_KEY\"\n[workload.a]\npreset = \"steady\"\n[workload.a.capture]\n";
    let told = read(off).unwrap_err().to_string();
    assert!(
        told.contains("workload.a.capture") && told.contains("enabled = false"),
        "{told}"
    );
    let url = Config::read_ledger_url("f", "[ledger]\nenabled = false\n", Path::new("."), &|_| {
        None
    });
    let told = url.unwrap_err().to_string();
    assert!(told.contains("keeps no ledger"), "{told}");
    let named = "[ledger]\nenabled = false\nurl = \"sqlite:old.db\"\n";
    let url = Config::read_ledger_url("f", named, Path::new("."), &|_| None).unwrap();
    assert_eq!(url.reveal(), "sqlite:./old.db");
}

#[test]
fn requests_that_nothing_touched_leave_rows_unless_sums_will_do() {
    use secateur_ledger::PassThrough;
    let of = |text| read(text).unwrap().ledger.unwrap().pass_through;
    assert_eq!(of(""), PassThrough::Rows);
    assert_eq!(of("[ledger]\npass_through = \"rows\"\n"), PassThrough::Rows);
    assert_eq!(of("[ledger]\npass_through = \"sums\"\n"), PassThrough::Sums);
    fails("[ledger]\npass_through = \"none\"\n", 2, "sums");
}

#[test]
fn secrets_do_not_show_in_debug_output() {
    let text = format!(
        "[[key]]\nname = \"a\"\nsha256 = \"{}\"\nworkload = \"default\"\ncredential_env = {{ openai = \"SET\" }}\n",
        "0".repeat(64)
    );
    assert!(!format!("{:?}", read(&text).unwrap()).contains("\"credential\""));
}
