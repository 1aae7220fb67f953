"""edge-agentic run: its command line, and the rows that it leaves."""

import json

from compare.common import FAILED, Stop


def run_command(binary, args, out):
    """The part that every comparison has in common."""
    command = [str(binary), "run", "--profile", "none", "--boundaries", args.boundaries]
    command += ["--model", str(args.model), "--out", str(out)]
    command += ["--ctx-size", str(args.ctx_size), "--max-new-tokens", str(args.max_new_tokens)]
    command += ["--threads", str(args.threads), "--flash-attn", "on"]
    command += [] if args.turns is None else ["--turns", str(args.turns)]
    command += ["--mtp", str(args.mtp)] if args.mtp else []
    command += ["--synthetic-acceptance", args.synthetic_acceptance] if args.synthetic_acceptance else []
    return command + args.run_arg


def read_rows(path, command, code):
    """The rows of a run that ended with `code`, by (conversation id, turn)."""
    # 1 is a verdict on the run (an overflow, say); whether the server met the same is decided turn by turn.
    if code not in (0, 1) or not path.is_file():
        raise Stop(FAILED, f"edge-agentic run ended with exit code {code}: {' '.join(command)}")
    parsed = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    parsed = (row["turn"] if path.name == "samples.jsonl" else row for row in parsed)
    return {(row["conversation_id"], row["turn"]): row for row in parsed}
