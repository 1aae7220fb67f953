"""Conversations whose turns meet a given context length, made up: a device has no data set, only its speed matters."""

import json
import random

from compare.common import printed
from compare.replayed import read_conversations

# New prompt tokens of each turn after the first: about what the recorded conversations' turns add.
ADDED = 400
SYSTEM = "You are a helpful assistant that can interact with a computer shell to solve programming tasks."
COMMAND = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
TOOLS = [{"type": "function", "function": {"name": "bash", "description": "Execute a bash command", "parameters": COMMAND}}]


def words(draw, count):
    """`count` made-up words; the same ones for the same draw."""
    return " ".join("".join(draw.choice("abcdefghijklmnoprstuvwy") for _ in range(draw.randint(3, 7))) for _ in range(count))


def rows(ident, first, added, turns):
    """A conversation of `turns` client turns: a task of `first` words, then tool results of `added` words."""
    draw = random.Random(ident)
    client = {"role": "user", "content": words(draw, first), "system": SYSTEM, "tools": TOOLS}
    for place in range(turns):
        yield {"conversation_id": ident, "turn": 2 * place + 1, **client}
        call = {"name": "bash", "arguments": json.dumps({"command": f"cat part-{place}.txt"})}
        calls = [{"id": f"bash:{place}", "type": "function", "function": call}]
        yield {"conversation_id": ident, "turn": 2 * place + 2, "role": "assistant", "tool_calls": calls}
        client = {"role": "tool", "tool_results": [{"tool_call_id": f"bash:{place}", "content": words(draw, added)}]}


def write(path, rows_):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows_), encoding="utf-8")


def prompt_tokens(binary, model, dataset):
    """Tokens of every turn's prompt, as the model's own vocabulary and template cut them."""
    lines = printed([binary, "prompts", "--model", model, "--dataset", dataset]).splitlines()
    return [json.loads(line)["n_tokens"] for line in lines]


def conversation_at(binary, model, depth, turns, directory):
    """A data set of one conversation whose last turn's prompt has about `depth` tokens; its path and conversation."""
    path = directory / f"depth-{depth}.jsonl"
    # How many tokens a made-up word has depends on the vocabulary: ask it, with two lengths.
    write(path, [*rows("short", 100, 100, 2), *rows("long", 1100, 100, 2)])
    short, _, long, _ = prompt_tokens(binary, model, path)
    per_word, overhead = (long - short) / 1000, short - (long - short) / 10
    added = round(ADDED / per_word)
    first = round((depth - overhead - (turns - 1) * (ADDED + 60)) / per_word)
    write(path, rows(f"depth-{depth}", max(first, 1), added, turns))
    return path, read_conversations(path, 1, turns)
