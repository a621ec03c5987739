"""How each agent is started without a terminal, and pointed at another base URL.

Checked November 2026 with the versions in package.json. Every agent gets a home folder of its own, so that
nothing of the user's configuration counts and nothing is left in it.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

BIN = Path(__file__).parent / "node_modules" / ".bin"
KEY = "not-a-real-key"


@dataclass(frozen=True)
class Setup:
    """What one agent needs: variables, configuration files, and the command for each turn."""

    env: dict[str, str]
    files: dict[str, str]
    first: list[str]
    later: list[str]

    def command(self, turn: int, prompt: str) -> list[str]:
        return [*(self.first if turn == 0 else self.later), prompt]


def program(name: str) -> str:
    return str(BIN / name)


def claude(url: str) -> Setup:
    # With the window of a million tokens; with 200,000 the direct session would be summarised on its way.
    command = [program("claude"), "--print", "--output-format", "stream-json", "--verbose",
               "--dangerously-skip-permissions", "--model", "claude-opus-4-6[1m]"]
    return Setup(
        env={
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": KEY,
            # Root may skip permissions only where it says that it is in a sandbox.
            "IS_SANDBOX": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
        },
        files={},
        first=command,
        later=[*command, "--continue"],
    )


def codex(model: str) -> Callable[[str], Setup]:
    def setup(url: str) -> Setup:
        options = ["--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
        config = f'''model = "{model}"
model_provider = "scripted"
check_for_update_on_startup = false

[analytics]
enabled = false

# Lists of plugins and apps are fetched at every start.
[features]
apps = false
plugins = false
remote_plugin = false

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
supports_websockets = false
'''
        return Setup(
            env={"SCRIPTED_KEY": KEY},
            files={".codex/config.toml": config},
            first=[program("codex"), "exec", *options],
            later=[program("codex"), "exec", "resume", "--last", *options],
        )
    return setup


def opencode(url: str) -> Setup:
    model = "claude-opus-4-6"
    limits = {"context": 1_000_000, "output": 32_000}
    config = {
        "autoupdate": False,
        "share": "disabled",
        "snapshot": False,
        "permission": {"*": "allow"},
        "model": f"anthropic/{model}",
        "small_model": f"anthropic/{model}",
        "provider": {"anthropic": {
            "options": {"baseURL": f"{url}/v1", "apiKey": KEY},
            "models": {model: {"name": model, "tool_call": True, "limit": limits}},
        }},
    }
    command = [program("opencode"), "run", "--auto", "--format", "json"]
    return Setup(
        env={
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_PURE": "1",
        },
        files={".config/opencode/opencode.json": json.dumps(config)},
        first=command,
        later=[*command, "--continue"],
    )


def gemini(url: str) -> Setup:
    settings = {
        "general": {"disableAutoUpdate": True, "enableAutoUpdate": False, "disableUpdateNag": True},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
    }
    command = [program("gemini"), "--yolo", "--skip-trust", "--model", "gemini-2.5-pro",
               "--output-format", "stream-json"]
    return Setup(
        env={
            "GOOGLE_GEMINI_BASE_URL": url,
            "GEMINI_API_KEY": KEY,
            "GEMINI_TELEMETRY_ENABLED": "false",
        },
        files={".gemini/settings.json": json.dumps(settings)},
        first=[*command, "--prompt"],
        later=[*command, "--resume", "latest", "--prompt"],
    )


def pi(url: str) -> Setup:
    model = {"id": "claude-opus-4-6", "reasoning": True, "contextWindow": 1_000_000, "maxTokens": 32_000}
    provider = {"api": "anthropic-messages", "baseUrl": url, "apiKey": KEY, "models": [model]}
    command = [program("pi"), "--offline", "--print", "--mode", "json",
               "--model", f"scripted/{model['id']}", "--thinking", "medium"]
    return Setup(
        env={"PI_OFFLINE": "1", "PI_TELEMETRY": "0"},
        files={".pi/agent/models.json": json.dumps({"providers": {"scripted": provider}})},
        first=command,
        later=[*command, "--continue"],
    )


# The slowest first, so that they do not run alone at the end.
AGENTS: dict[str, Callable[[str], Setup]] = {
    "gemini": gemini,
    "opencode": opencode,
    "claude": claude,
    "pi": pi,
    "codex": codex("gpt-5.5"),
    "codex-six": codex("gpt-6.1-sol"),
}
