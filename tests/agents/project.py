"""The project that the agents work on: made up by a counter, the same on every machine."""

import json
import os
import subprocess
from pathlib import Path

NOUNS = ("account batch carrier customer delivery discount invoice item ledger order parcel payment "
         "price quote receipt refund region shipment stock supplier tariff voucher warehouse").split()
VERBS = "apply check close collect compare find group load merge open pick release sort split sum trace".split()


class Counter:
    """Numbers that look random and are the same on every machine."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def roll(self, sides: int) -> int:
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % sides

    def pick(self, words: list[str]) -> str:
        return words[self.roll(len(words))]


def source(counter: Counter, module: str, lines: int) -> str:
    """A module of about so many lines, each function different from the others."""
    out = [f"// The {module} module.", 'import { Store, Row } from "./store";', "",
           f"export const {module.upper()}_LIMIT = 100;", ""]
    number = 0
    while len(out) < lines:
        number += 1
        verb, noun, other = counter.pick(VERBS), counter.pick(NOUNS), counter.pick(NOUNS)
        name = f"{verb}{noun.capitalize()}{number}"
        if number % 8 == 0:
            out.append(f"// TODO: {name} does not handle a missing {other} yet.")
        out += [
            f"export function {name}(store: Store, {noun}: Row[], {other}Id: number): Row | undefined {{",
            f"  const limit = Math.min({noun}.length, {module.upper()}_LIMIT * {counter.roll(30) + 2});",
            f"  for (let at = {counter.roll(4)}; at < limit; at += 1) {{",
            f"    const row = store.{verb}({noun}[at], {other}Id + {counter.roll(9000) + 1000});",
            f"    if (row.weight > {counter.roll(90000) + 1000} && row.kind !== \"{counter.pick(NOUNS)}\") {{",
            f"      return {{ ...row, {other}: at % {counter.roll(90) + 3} }};",
            "    }",
            "  }",
            "  return undefined;",
            "}",
            "",
        ]
    return "\n".join(out) + "\n"


BUILD = r"""#!/bin/bash
# Prints what a build of a large project prints.
for unit in $(seq 1 2400); do
  if ((unit % 61 == 7)); then
    echo "src/orders.ts($((unit % 800)),13): warning TS6133: 'row$unit' is declared but its value is never read."
  elif ((unit % 89 == 3)); then
    echo "  linking bundle_$unit (chunk $((unit % 17)), $((unit * 37 % 900)) kB)"
  else
    echo "  [$unit/2400] compile module_$unit.ts -> dist/module_$unit.js (target es2022, $((unit * 13 % 400)) ms)"
  fi
done
echo "build finished: 2400 modules, 39 warnings, 0 errors in 38.4 s"
"""

TESTS = r"""#!/bin/bash
# Prints what a test run with a few failures prints.
echo "running 420 tests"
for case in $(seq 1 420); do
  if ((case % 101 == 0)); then
    echo "not ok $case - orders case $case"
    echo "  expected $((case * 3)) to equal $((case * 3 + 1)) at src/orders.ts:$((case * 2))"
  else
    echo "ok $case - orders case $case"
  fi
done
echo "tests: 416 passed, 4 failed, 420 total in 2.7 s"
"""


def make(folder: Path) -> None:
    """Creates the project with one commit."""
    counter = Counter(11)
    for name in ("src", "data"):
        (folder / name).mkdir(parents=True)
    for module, lines in (("orders", 880), ("routes", 690), ("settings", 260), ("format", 330)):
        (folder / "src" / f"{module}.ts").write_text(source(counter, module, lines))
    sections = "".join(f"- {counter.pick(VERBS)} {counter.pick(NOUNS)}: see section {at}\n" for at in range(70))
    (folder / "README.md").write_text(f"# Warehouse\n\nOrders, routes and their settings.\n\n{sections}")
    (folder / "package.json").write_text('{ "name": "warehouse", "private": true }\n')
    records = [{"id": at, "kind": counter.pick(NOUNS), "weight": counter.roll(100000),
                "tags": [counter.pick(NOUNS), counter.pick(VERBS)]} for at in range(170)]
    (folder / "data" / "records.json").write_text(json.dumps(records, indent=1) + "\n")
    for name, text in (("build.sh", BUILD), ("run_tests.sh", TESTS)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    date, who = "2026-01-05T10:00:00Z", "warehouse"
    env = {**os.environ, "HOME": str(folder)}
    for role in ("AUTHOR", "COMMITTER"):
        env |= {f"GIT_{role}_DATE": date, f"GIT_{role}_NAME": who, f"GIT_{role}_EMAIL": f"{who}@example.org"}
    for command in (["init", "--quiet", "--initial-branch=main"], ["add", "."], ["commit", "--quiet", "-m", "Start"]):
        subprocess.run(["git", "-C", str(folder), *command], env=env, check=True)


def files(folder: Path) -> dict[str, str]:
    """Every file of the project with its text, but for what belongs to git."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and ".git" not in path.parts)
    return {str(path.relative_to(folder)): path.read_text(errors="replace") for path in found}


def apply(script: dict, before: dict[str, str]) -> dict[str, str]:
    """The files after all edits and writes of a script."""
    after = dict(before)
    for operation in operations(script):
        if "edit" in operation:
            path = operation["edit"]
            # Patches of codex replace whole lines.
            if f"\n{after.get(path, '')}".count(f"\n{operation['old']}\n") != 1 or after[path].count(operation["old"]) != 1:
                raise ValueError(f"`old` must be whole lines that occur once in {path}: {operation['old']!r}")
            after[path] = after[path].replace(operation["old"], operation["new"])
        elif "write" in operation:
            after[operation["write"]] = operation["text"]
    return after


def operations(script: dict) -> list[dict]:
    """All operations of a script, in the order in which they are called."""
    return [operation for turn in script["turns"] for step in turn["steps"] for operation in step]
