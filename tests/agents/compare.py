"""Plays the script with real agents, directly and through the proxy, and compares. See README.md."""

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import judge
import processes
import project
from agents import AGENTS
from session import DIRECT, PRUNED, Session, Setting, play

HERE = Path(__file__).parent


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests/agents/run", description=__doc__)
    parser.add_argument("agents", nargs="*", metavar="AGENT", help=f"which agents (default all): {', '.join(AGENTS)}")
    parser.add_argument("--script", type=Path, default=HERE / "script.json", help="another session")
    parser.add_argument("--preset", default="steady", help="the workload's preset (default steady)")
    parser.add_argument("--max-ratio", type=float, default=1.0,
                        help="input may cost so much through the proxy, of what it costs directly (default 1.0)")
    parser.add_argument("--max-prediction-error", type=float, metavar="SHARE",
                        help="predicted cache reads may differ so much from billed ones (default any)")
    parser.add_argument("--min-first-reads", type=float, metavar="SHARE",
                        help="so much of files read for the first time must reach the model (default any)")
    parser.add_argument("--keep", action="store_true", help="keep the requests, logs and project folders")
    parser.add_argument("--at-once", type=int, default=(os.cpu_count() or 2) + 1,
                        help="sessions at the same time (default one more than there are processors)")
    parser.add_argument("--timeout", type=float, default=150, help="seconds for one turn (default 150)")
    parser.add_argument("--secateur", type=Path, required=True)
    parser.add_argument("--provider", type=Path, required=True)
    args = parser.parse_args()
    unknown = [name for name in args.agents if name not in AGENTS]
    if unknown:
        parser.error(f"no agent {', '.join(unknown)}: there are {', '.join(AGENTS)}")
    return args


def main() -> int:
    args = arguments()
    script = json.loads(args.script.read_text())
    processes.adopt_orphans()
    # An interrupted test cleans up like one that ends.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    work = Path(tempfile.mkdtemp(prefix="secateur-agents-"))
    setting = Setting(args.secateur.resolve(), args.provider.resolve(), args.script.resolve(), script, args.preset,
                      work, args.timeout)
    started = time.monotonic()
    try:
        before, expected = project_states(setting)
        sessions = play_all(setting, args.agents or list(AGENTS), args.at_once)
        failed = report(setting, sessions, before, expected, args)
    finally:
        processes.end_all()
        if args.keep:
            print(f"kept: {work}")
        else:
            shutil.rmtree(work, ignore_errors=True)
    print(f"{len(sessions)} sessions in {time.monotonic() - started:.0f} s")
    return 1 if failed else 0


def play_all(setting: Setting, agents: list[str], at_once: int) -> dict[tuple[str, str], Session]:
    def one(which: tuple[str, str]) -> Session:
        try:
            return play(setting, *which)
        except Exception as error:  # the other sessions are worth their figures
            return Session(*which, setting.work, [f"{type(error).__name__}: {error}"])

    which = [(agent, way) for agent in agents for way in (DIRECT, PRUNED)]
    with ThreadPoolExecutor(at_once) as pool:
        try:
            return dict(zip(which, pool.map(one, which)))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            processes.end_all()
            raise


def project_states(setting: Setting) -> tuple[dict[str, str], dict[str, str]]:
    """The project's files before the script and after it."""
    folder = setting.work / "before"
    project.make(folder)
    before = project.files(folder)
    try:
        return before, project.apply(setting.script, before)
    except ValueError as error:
        sys.exit(f"{setting.script_file}: {error}")


def report(setting: Setting, sessions: dict[tuple[str, str], Session], before: dict[str, str],
           expected: dict[str, str], limits: argparse.Namespace) -> bool:
    """Prints the table and what went wrong; whether anything did."""
    wrong, notes = [], []
    print(f"{'agent':<10} {'requests':>8} {'direct':>10} {'proxy':>10} {'ratio':>6} "
          f"{'predicted':>10} {'billed':>10} {'off by':>7} {'first reads':>11} {'seconds':>11}")
    for agent in dict.fromkeys(agent for agent, _ in sessions):
        direct, pruned = sessions[agent, DIRECT], sessions[agent, PRUNED]
        for session in (direct, pruned):
            wrong += [f"{agent} ({session.way}): {problem}"
                      for problem in judge.problems(session, setting.script, expected)]
        # What is rejected directly too is the agent's own mistake; one that matters would break the session.
        own = judge.rejections(direct)
        wrong += [f"{agent}: the provider rejected {what}" for what in judge.rejections(pruned) - own]
        notes += [f"{agent}: also without the proxy, the provider rejects {what}" for what in own]
        if not direct.cost() or not pruned.cost():
            print(f"{agent:<10} did not run")
            continue
        ratio = pruned.cost() / direct.cost()
        predicted, billed = judge.cache_reads(direct, pruned)
        if lost := judge.own_misses(direct):
            notes.append(f"{agent}: the agent itself changes what it sent before at " +
                         ", ".join(f"turn {turn + 1} after {calls} calls" for turn, calls in lost) +
                         "; not in predicted and billed")
        share = judge.first_read_share(direct, pruned, setting.script, before)
        print(f"{agent:<10} {len(pruned.billed()):>8} {direct.cost():>10,.0f} {pruned.cost():>10,.0f} {ratio:>6.3f} "
              f"{predicted:>10,} {billed:>10,} {percent(predicted - billed, billed):>7} "
              f"{'-' if share is None else f'{share:.0%}':>11} {direct.seconds:>5.0f} {pruned.seconds:>5.0f}")
        wrong += [f"{agent}: {excess}" for excess in excesses(limits, ratio, predicted, billed, share)]
    for note in notes:
        print(f"note: {note}")
    for problem in wrong:
        print(f"FAILED {problem}")
    return bool(wrong)


def excesses(limits: argparse.Namespace, ratio: float, predicted: int, billed: int, share: float | None) -> list[str]:
    """The limits that the figures of an agent are beyond."""
    found = []
    if ratio > limits.max_ratio:
        found.append(f"input costs {ratio:.3f} of the direct session through the proxy; the limit is {limits.max_ratio}")
    allowed = limits.max_prediction_error
    if allowed is not None and abs(predicted - billed) > allowed * billed:
        found.append(f"{predicted:,} cached tokens were predicted and {billed:,} were billed; the limit is {allowed:.0%}")
    least = limits.min_first_reads
    if least is not None and share is not None and share < least:
        found.append(f"{share:.0%} of the files read for the first time reached the model; the limit is {least:.0%}")
    return found


def percent(part: float, whole: float) -> str:
    return f"{part / whole:+.1%}" if whole else "-"


if __name__ == "__main__":
    sys.exit(main())
