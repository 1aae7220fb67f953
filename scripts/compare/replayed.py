"""What both sides replay: recorded conversations or BFCL samples, as the reference client sends them."""

import gzip
import json

from compare.common import BAD_INPUT, Stop


def read_conversations(path, limit, turns):
    """The first `limit` conversations as (id, [client turn number, …], [messages of that turn, …], tools)."""
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except OSError as error:
        raise Stop(BAD_INPUT, f"{path}: {error.strerror}; give a replay data set with --dataset") from error
    except ValueError as error:
        raise Stop(BAD_INPUT, f"{path}: not JSON lines: {error}") from error
    grouped = {}
    try:
        for row in rows:
            grouped.setdefault(row["conversation_id"], []).append(row)
        return [conversation(ident, rows, turns) for ident, rows in list(grouped.items())[:limit]]
    except (KeyError, TypeError) as error:
        raise Stop(BAD_INPUT, f"{path}: not a replay data set: {error!r}; edge-agentic prompts says where") from error


def read_samples(path, count):
    """`count` samples spread evenly over the file's, as `run --bfcl-samples` takes them, each as a conversation."""
    try:
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        count = min(count or len(rows), len(rows))
        taken = [rows[place * len(rows) // count] for place in range(count)]
        return [(row["id"], [1], [row["messages"]], row["tools"]) for row in taken]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Stop(BAD_INPUT, f"{path}: expected JSON lines of {{id, messages, tools}}: {error!r}") from error


def conversation(ident, rows, turns):
    """Every client turn's messages: the recorded history before it, as the reference client sends it."""
    first = rows[0]
    messages = [{"role": "system", "content": first["system"]}] if first.get("system") else []
    numbers, prompts = [], []
    for row in rows:
        messages = messages + list(row_messages(row))
        if row["role"] != "assistant":
            numbers.append(row["turn"])
            prompts.append(messages)
    return ident, numbers[:turns], prompts[:turns], first.get("tools")


def row_messages(row):
    """A row as messages, keys in the reference's order; absent fields stay absent."""
    if row["role"] == "tool":
        for result in row["tool_results"]:
            yield {"role": "tool", "content": result["content"], "tool_call_id": result["tool_call_id"]}
        return
    message = {"role": row["role"]}
    for key in ("content", "tool_calls", "reasoning_content"):
        if row.get(key):
            message[key] = row[key]
    yield message


def request_body(messages, tools, args, streamed=False):
    """The reference's request (tool_choice only for samples).

    Not streamed, it asks for token ids too, which the server names in no other way: that changes the transport, not
    the tokens. Streamed, it is what the reference sends.
    """
    body = {
        "model": "model",
        "messages": messages,
        "temperature": 0.0,
        "max_completion_tokens": args.max_new_tokens,
        "stream": streamed,
        "seed": 42,
        "tools": tools,
        # Samples share nothing; a prompt cache would only cut their prompts into other decode calls.
        **({"tool_choice": "auto", "cache_prompt": False} if args.samples else {}),
        **({"stream_options": {"include_usage": True}} if streamed else {"return_tokens": True, "verbose": True}),
    }
    return {key: value for key, value in body.items() if value is not None}
