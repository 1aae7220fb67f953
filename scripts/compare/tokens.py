"""Token by token: both sides replay everything, and every turn is compared."""

import subprocess

from compare.common import FAILED, Stop, progress
from compare.replayed import request_body
from compare.runner import read_rows, run_command
from compare.server import Server


def replay_on_server(binary, args, conversations, scratch):
    """{(conversation id, turn): outcome} for every turn sent; a conversation ends at its first overflow."""
    outcomes = {}
    total = sum(len(numbers) for _, numbers, _, _ in conversations)
    with Server(binary, args, scratch) as server:
        server.wait_until_ready(args.load_timeout)
        for ident, numbers, prompts, tools in conversations:
            server.forget()
            for number, messages in zip(numbers, prompts):
                outcome = server.turn(ident, request_body(messages, tools, args))
                if number == numbers[0] and outcome.get("reused_tokens"):
                    raise Stop(FAILED, f"{ident}: llama-server started warm ({outcome['reused_tokens']} tokens)")
                outcomes[ident, number] = outcome
                progress(f"llama-server: {len(outcomes)}/{total} turns")
                if outcome["state"] == "failed_overflow":
                    break
    progress(None)
    return outcomes


def replay_in_process(binary, args, out):
    """The rows of turns.jsonl, or those in samples.jsonl, by (conversation id, turn)."""
    command = run_command(binary, args, out)
    if args.samples:
        command += ["--accuracy-only", "--bfcl-samples", str(args.bfcl_samples)]
        command += ["--data", str(args.data)] if args.data else []
    else:
        command += ["--performance-only", "--dataset", str(args.dataset)]
        command += [] if args.conversations is None else ["--conversations", str(args.conversations)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False)
    return read_rows(out / ("samples.jsonl" if args.samples else "turns.jsonl"), command, done.returncode)


def difference(server, ours):
    """In words, the first thing in which two outcomes of a turn differ; None when they are equal."""
    if ours is None:
        return "edge-agentic has no row for this turn"
    if server["state"] == "failed_overflow" or ours["state"] == "failed_overflow":
        same = server["state"] == ours["state"]
        return None if same else f"overflow: server {server['state']}, ours {ours['state']}"
    if not ours["state"].startswith("completed"):
        return f"ours {ours['state']}: {ours.get('reason')}"
    if server["prompt_tokens"] != ours["prompt_tokens"]:
        return f"prompt tokens: server {server['prompt_tokens']}, ours {ours['prompt_tokens']}"
    if server["prompt_sha256"] != ours["prompt_sha256"]:
        return "prompt text"
    theirs, mine = server["output_ids"], ours["output_ids"]
    if theirs != mine:
        at = next((i for i, pair in enumerate(zip(theirs, mine)) if pair[0] != pair[1]), min(len(theirs), len(mine)))
        return f"token {at}: server {theirs[at:at + 1] or 'ended'}, ours {mine[at:at + 1] or 'ended'}"
    for part in ("content", "reasoning_content"):
        if server[part] != (ours[part] or ""):
            return f"{part}: server {server[part]!r}, ours {ours[part]!r}"
    calls = [(call["name"], call["arguments"]) for call in ours["tool_calls"]]
    return None if server["tool_calls"] == calls else f"tool calls: server {server['tool_calls']}, ours {calls}"


def print_table(served, rows):
    """One line per turn; returns (turns equal, token ids in them)."""
    width = max([len(ident) for ident, _ in served] + [len("conversation")])
    print(f"{'conversation':{width}}  turn  prompt  reused: server    ours  output  calls  verdict")
    equal = tokens = 0
    for (ident, number), server in served.items():
        ours = rows.get((ident, number))
        found = difference(server, ours)
        if found is None:
            equal += 1
            tokens += len(server.get("output_ids", []))
        reused = [str((side or {}).get("reused_tokens") or 0) for side in (server, ours)]
        counts = [len(server.get(key, [])) for key in ("output_ids", "tool_calls")]
        print(
            f"{ident:{width}}  {number:4}  {server['prompt_tokens']:>6}  {reused[0]:>14}  {reused[1]:>6}"
            f"  {counts[0]:>6}  {counts[1]:>5}  {'equal' if found is None else 'DIFFERS: ' + found}"
        )
    return equal, tokens
