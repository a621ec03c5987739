//! The wire formats by name, and what the provider of each one demands.

/// The wire formats that this version reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Dialect {
    /// OpenAI chat completions, and the many servers that speak it.
    OpenaiChat,
    /// OpenAI Responses.
    OpenaiResponses,
    /// Anthropic Messages.
    AnthropicMessages,
    /// Gemini `generateContent`.
    GeminiGenerateContent,
}

impl Dialect {
    /// All of them, in the order in which they are listed to people.
    pub const ALL: [Self; 4] = [
        Self::OpenaiChat,
        Self::OpenaiResponses,
        Self::AnthropicMessages,
        Self::GeminiGenerateContent,
    ];

    /// Its name in commands, configuration and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// The dialect of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|id| id.name() == name)
    }

    /// What is known of it.
    #[must_use]
    pub fn facts(self) -> &'static Facts {
        match self {
            Self::OpenaiChat => &OPENAI_CHAT,
            Self::OpenaiResponses => &OPENAI_RESPONSES,
            Self::AnthropicMessages => &ANTHROPIC_MESSAGES,
            Self::GeminiGenerateContent => &GEMINI_GENERATE_CONTENT,
        }
    }
}

impl std::fmt::Display for Dialect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// What a dialect is called and what its provider demands.
#[derive(Debug)]
pub struct Facts {
    /// Its name.
    pub name: &'static str,
    /// The endpoint that takes it.
    pub endpoint: &'static str,
    /// The member that holds the turns.
    pub list_key: &'static str,
    /// What the provider rejects.
    pub rules: Rules,
}

/// The provider's rules on the order and shape of turns. Checked against recorded traffic,
/// November 2026.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// The first turn that is not a system turn must be a user's.
    pub first_turn_is_user: bool,
    /// An output begins with a user's turn wherever its input does, also if the provider would take another.
    pub user_stays_first: bool,
    /// Every result must answer a call of the nearest assistant turn before it, with nothing but
    /// results between.
    pub results_follow_their_call: bool,
    /// In a turn that answers calls, results come before anything else.
    pub results_come_first: bool,
    /// A turn with calls must directly follow a user turn or results.
    pub calls_follow_user: bool,
    /// Turns with calls that follow each other count as one turn.
    pub calling_turns_merge: bool,
    /// In a turn that calls, no text may follow a call.
    pub calls_end_their_turn: bool,
    /// Text blocks and contents must not be empty.
    pub text_is_not_empty: bool,
    /// A reasoning item needs the item that was produced with it right after it.
    pub reasoning_has_follower: bool,
    /// Signed thinking may not be removed while the call or text that it produced stays.
    pub signed_thinking_goes_with_its_turn: bool,
}

static OPENAI_CHAT: Facts = Facts {
    name: "openai-chat",
    endpoint: "POST /v1/chat/completions",
    list_key: "messages",
    rules: Rules {
        first_turn_is_user: false,
        user_stays_first: false,
        results_follow_their_call: true,
        results_come_first: false,
        calls_follow_user: false,
        calling_turns_merge: false,
        calls_end_their_turn: false,
        text_is_not_empty: false,
        reasoning_has_follower: false,
        signed_thinking_goes_with_its_turn: false,
    },
};

static OPENAI_RESPONSES: Facts = Facts {
    name: "openai-responses",
    endpoint: "POST /v1/responses",
    list_key: "input",
    rules: Rules {
        first_turn_is_user: false,
        user_stays_first: false,
        results_follow_their_call: false,
        results_come_first: false,
        calls_follow_user: false,
        calling_turns_merge: false,
        calls_end_their_turn: false,
        text_is_not_empty: false,
        reasoning_has_follower: true,
        signed_thinking_goes_with_its_turn: true,
    },
};

static ANTHROPIC_MESSAGES: Facts = Facts {
    name: "anthropic-messages",
    endpoint: "POST /v1/messages",
    list_key: "messages",
    rules: Rules {
        // A conversation that begins with the assistant is accepted (recorded traffic, November 2026).
        first_turn_is_user: false,
        user_stays_first: true,
        results_follow_their_call: true,
        results_come_first: true,
        calls_follow_user: false,
        calling_turns_merge: true,
        calls_end_their_turn: true,
        text_is_not_empty: true,
        reasoning_has_follower: false,
        signed_thinking_goes_with_its_turn: false,
    },
};

static GEMINI_GENERATE_CONTENT: Facts = Facts {
    name: "gemini-generate-content",
    endpoint: "POST /v1beta/models/{model}:generateContent",
    list_key: "contents",
    rules: Rules {
        first_turn_is_user: true,
        user_stays_first: true,
        results_follow_their_call: true,
        results_come_first: false,
        calls_follow_user: true,
        calling_turns_merge: true,
        calls_end_their_turn: false,
        text_is_not_empty: false,
        reasoning_has_follower: false,
        signed_thinking_goes_with_its_turn: true,
    },
};
