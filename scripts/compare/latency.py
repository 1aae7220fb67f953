"""How long turns take on both sides, interleaved conversation by conversation.

The server stays loaded and idle while edge-agentic replays a conversation in a process of its own, and the other way
round; who begins changes with every conversation. Times are in milliseconds.
"""

import json
import os
import statistics
import subprocess
import sys

from compare.common import DIFFERENT, FAILED, PASS, Stop, load, machine, print_machine, progress
from compare.replayed import request_body
from compare.runner import read_rows, run_command
from compare.server import Server

# Prompt lengths up to these are looked at together, tokens.
BUCKETS = (4096, 8192, 16384, 24576, 32768)

# What is compared: key, heading, whether lower is demanded.
METRICS = (
    ("latency", "latency ms", True),
    ("ttft", "TTFT ms", True),
    ("outside", "outside ms", True),
    ("evaluated", "evaluated", False),
    ("output", "output", False),
    ("calls", "decode calls", False),
    ("drafted", "drafted", False),
    ("accepted", "accepted", False),
)


def on_server(server, conversation, args):
    """{turn: measurements} of a conversation on the server, from an empty slot."""
    ident, numbers, prompts, tools = conversation
    server.forget()
    measured = {}
    for number, messages in zip(numbers, prompts):
        before = server.decode_calls()
        measured[number] = server.stream(ident, request_body(messages, tools, args, streamed=True))
        after = server.decode_calls()
        measured[number]["calls"] = None if before is None or after is None else after - before
    return measured


def in_process(binary, args, ident, out):
    """{turn: measurements} of a conversation in a process of its own, and the most memory that it held, MiB."""
    command = run_command(binary, args, out) + ["--performance-only", "--dataset", str(args.dataset)]
    command += ["--conversations", ident, "--warmup", "1"]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, **quiet)
    try:
        _, status, usage = os.wait4(process.pid, 0)
    except BaseException:
        # Interrupted, or out of time: nothing may go on computing beside what comes next.
        process.kill()
        process.wait()
        raise
    process.returncode = os.waitstatus_to_exitcode(status)
    rows = read_rows(out / "turns.jsonl", command, process.returncode)
    peak = usage.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    return {turn: measurements(row) for (_, turn), row in rows.items()}, peak


def measurements(row):
    """A row of turns.jsonl in the terms of Server.stream."""
    if not row["state"].startswith("completed"):
        raise Stop(FAILED, f"{row['conversation_id']}:{row['turn']}: {row['state']}: {row['reason']}")
    at, phases = row["first_delta_index"], row["phases_ns"]
    # Driver time is partly within these phases: an upper bound of what lies outside the model.
    outside = row["driver_ns"] + phases["render"] + phases["tokenize"] + phases["parse"]
    return {
        "prompt_tokens": row["prompt_tokens"],
        "evaluated": row["evaluated_tokens"],
        "output": row["output_tokens"],
        "latency": row["latency_ns"] / 1e6,
        "ttft": None if at is None else row["token_ns"][at] / 1e6,
        "outside": outside / 1e6,
        "calls": row["decode_calls"],
        "prefill": (phases["restore"] + phases["prefill"]) / 1e6,
        "decode": (row["token_ns"][-1] - row["token_ns"][0]) / 1e6,
        "drafted": row["drafted_tokens"],
        "accepted": row["accepted_tokens"],
    }


def replay(server, binary, args, conversations, scratch):
    """Every turn on both sides; the loads seen; our processes' peak memory."""
    turns, loads, peak = [], [load()], 0.0
    for place, conversation in enumerate(conversations * args.rounds):
        ident = conversation[0]
        progress(f"conversation {place + 1}/{len(conversations) * args.rounds}: {ident}")
        server_first = (place + place // len(conversations)) % 2 == 0
        theirs = on_server(server, conversation, args) if server_first else None
        ours, memory = in_process(binary, args, ident, scratch / f"run-{place}")
        theirs = theirs or on_server(server, conversation, args)
        peak = max(peak, memory)
        loads.append(load())
        for number, there in theirs.items():
            here = ours.get(number)
            if here is None or here["prompt_tokens"] != there["prompt_tokens"]:
                raise Stop(FAILED, f"{ident}:{number}: the prompts differ; compare tokens first (without --latency)")
            turns.append({"conversation_id": ident, "turn": number, "server": there, "ours": here})
    progress(None)
    return turns, loads, peak


def summary(turns):
    """One row per bucket and metric: means and medians of both sides over the turns in which both have it."""
    edges = zip((0, *BUCKETS), BUCKETS)
    groups = [(f"<= {high // 1024}K", [t for t in turns if low < t["ours"]["prompt_tokens"] <= high]) for low, high in edges]
    rows = []
    for name, group in [*groups, ("all", turns)]:
        for key, heading, demanded in METRICS:
            pairs = [(t["server"][key], t["ours"][key]) for t in group]
            known = [pair for pair in pairs if None not in pair]
            theirs = [there for there, _ in known]
            # What the server does not tell is shown for ours alone.
            ours = [here for _, here in known or pairs if here is not None]
            # Nobody drafts without MTP.
            if any(theirs) or any(ours):
                rows.append(row(name, heading, demanded, theirs, ours))
    return rows


def row(context, metric, demanded, theirs, ours):
    """A line of the table."""
    both = bool(theirs)
    mean, median = statistics.fmean, statistics.median
    return {
        "context": context,
        "metric": metric,
        "turns": len(ours),
        "server_mean": mean(theirs) if both else None,
        "ours_mean": mean(ours),
        "server_median": median(theirs) if both else None,
        "ours_median": median(ours),
        "demanded": demanded,
    }


def ratio(ours, theirs):
    return None if not theirs else ours / theirs


def print_rows(rows):
    """The table as Markdown."""
    print("\n| context | turns | | server mean | ours mean | ratio | server median | ours median | ratio |")
    print("|:---|---:|:---|---:|---:|---:|---:|---:|---:|")
    shown = lambda value, digits: "n/a" if value is None else f"{value:,.{digits}f}"
    for r in rows:
        digits = 2 if r["metric"].endswith("ms") else 1
        cells = [r["context"], str(r["turns"]), r["metric"]]
        for kind in ("mean", "median"):
            theirs, ours = r[f"server_{kind}"], r[f"ours_{kind}"]
            cells += [shown(theirs, digits), shown(ours, digits), shown(ratio(ours, theirs), 3)]
        print(f"| {' | '.join(cells)} |")


def print_verdict(rows):
    """One line per demand that is not met, or one for all; whether all are."""
    demands = [r for r in rows if r["demanded"]]
    missed = [r for r in demands if r["server_mean"] is None or r["ours_mean"] >= r["server_mean"]]
    for r in missed:
        print(f"[FAIL] {r['metric']}, {r['context']}: mean {r['ours_mean']:.2f}, expected below {r['server_mean'] or 0:.2f}")
    if demands and not missed:
        figures = ", ".join(dict.fromkeys(r["metric"] for r in demands))
        print(f"[PASS] lower means in all {len(demands)} comparisons ({figures})")
    return bool(demands) and not missed


def compare_latency(server_binary, binary, args, conversations, scratch):
    """Measures, prints, writes latency.json where results are kept."""
    facts = machine()
    with Server(server_binary, args, scratch) as server:
        server.wait_until_ready(args.load_timeout)
        _, _, prompts, tools = conversations[0]
        server.stream("warm-up", request_body(prompts[0], tools, args, streamed=True))
        turns, loads, ours_peak = replay(server, binary, args, conversations, scratch)
        server_peak = server.peak_memory()
    rows = summary(turns)
    print_machine(facts, loads)
    print_rows(rows)
    there = "n/a" if server_peak is None else f"{server_peak:,.0f} MiB"
    print(f"\npeak memory: server {there}, ours {ours_peak:,.0f} MiB")
    passed = print_verdict(rows)
    if args.out:
        settings = {k: str(v) if hasattr(v, "parts") else v for k, v in vars(args).items()}
        memory = {"server": server_peak, "ours": ours_peak}
        whole = {"machine": facts, "loads": loads, "settings": settings, "peak_memory_mib": memory}
        text = json.dumps({**whole, "passed": passed, "summary": rows, "turns": turns}, indent=1)
        (args.out / "latency.json").write_text(text + "\n", encoding="utf-8")
    return PASS if passed else DIFFERENT
