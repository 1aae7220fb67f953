"""Exit codes, the one exception, progress, the programs that are compared, and the machine."""

import datetime
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PASS, DIFFERENT, BAD_INPUT, SETUP, FAILED = 0, 1, 2, 3, 4


class Stop(Exception):
    """Ends the comparison with an exit code and one message."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def progress(text):
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K" + (text or ""))
        sys.stderr.flush()


def find_peer(peer, program):
    """A program of llama.cpp's: a file, or in a directory that build-peer.sh filled."""
    if peer is None:
        raise Stop(SETUP, f"no {program}: name one with --peer or EDGE_AGENTIC_PEER (a binary, or a build's directory)")
    beside = (peer.with_name(program),) if peer.is_file() else ()
    for candidate in (*beside, peer, *(peer / place / program for place in (".", "bin", "build/bin"))):
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate.resolve()
    builder = ROOT.parent / "shared/tools/build-peer.sh"
    hint = f"; build one: {os.path.relpath(builder)} {peer}" if builder.is_file() else ""
    raise Stop(SETUP, f"{peer}: holds no {program}{hint}")


def find_runner(given):
    """The edge-agentic binary: as given, from the target directory, or on PATH."""
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    for candidate in [given] if given else [target / "release/edge-agentic", shutil.which("edge-agentic")]:
        if candidate and os.access(candidate, os.X_OK):
            return pathlib.Path(candidate).resolve()
    raise Stop(SETUP, "edge-agentic is not built: cargo build --release --locked, or name it with --binary")


def printed(command, codes=(0,)):
    """What a program prints on stdout, where it ends with one of these exit codes."""
    command = [str(part) for part in command]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode not in codes:
        raise Stop(FAILED, f"exit code {done.returncode}: {' '.join(command)}\n{done.stderr[-2000:]}")
    return done.stdout


def printed_json(command, codes=(0,)):
    """The same of a program that prints JSON."""
    text = printed(command, codes)
    try:
        return json.loads(text)
    except ValueError as error:
        raise Stop(FAILED, f"no JSON: {' '.join(map(str, command))}: {error}") from error


def machine():
    """What the figures were measured on, and when."""
    name = platform.processor() or platform.machine()
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        name = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), name)
    except OSError:
        pass
    return {
        "processor": name,
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
    }


def load():
    """Processes that wanted to run over the last minute; above the number of cores nobody measures anything."""
    return os.getloadavg()[0]


def print_machine(facts, loads):
    """One line about the machine, and a warning where it was busy with something else."""
    print(f"{facts['processor']}, {facts['cores']} cores, {facts['system']}, {facts['date']}")
    highest = max(loads)
    busy = " BUSY: only ratios mean anything, and those little." if highest > facts["cores"] * 0.75 + 0.5 else ""
    print(f"load average {min(loads):.1f} to {highest:.1f}.{busy}")
