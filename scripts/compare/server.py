"""llama-server: started on a free port of loopback, asked, stopped."""

import contextlib
import hashlib
import http.client
import json
import os
import socket
import subprocess
import time

from compare.common import FAILED, SETUP, Stop


class Server:
    """One llama-server on a free loopback port; stopped, by its own process id, when the block ends."""

    def __init__(self, binary, args, scratch):
        self.port = free_port()
        self.log_path = scratch / "llama-server.log"
        command = [str(binary), "--model", str(args.model), "--host", "127.0.0.1", "--port", str(self.port)]
        command += ["--ctx-size", str(args.ctx_size), "-np", "1", "--reasoning", "off", "--flash-attn", "on"]
        command += ["--seed", "42", "--threads", str(args.threads), "--threads-batch", str(args.threads)]
        # Lets the slot be emptied between conversations; nothing is ever saved there.
        command += ["--slot-save-path", str(scratch), *(["--metrics"] if args.latency else []), *drafts(args), *args.server_arg]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("LLAMA_")}
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=environment
            )

    def __enter__(self):
        return self

    def __exit__(self, _, error, __):
        lost = isinstance(error, (ConnectionError, TimeoutError, http.client.HTTPException))
        if lost:
            # A process that dies closes its connections a moment before it has ended.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=2)
        ended = self.process.poll()
        self.process.terminate()
        try:
            self.process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        # Uncaught, these would end the script with the exit code of a difference.
        if lost:
            state = "still ran" if ended is None else f"had ended with {ended}"
            raise Stop(FAILED, f"llama-server gave no answer ({error!r}) and {state}:\n{self.tail()}") from error

    def wait_until_ready(self, seconds):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise Stop(SETUP, f"llama-server ended with {self.process.returncode} while loading:\n{self.tail()}")
            try:
                if self.call("GET", "/health")[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.2)
        raise Stop(SETUP, f"llama-server was not ready after {seconds} s (--load-timeout):\n{self.tail()}")

    def tail(self):
        return "\n".join(self.log_path.read_text(errors="replace").splitlines()[-12:])

    def call(self, method, path, body=None, headers=None):
        """One request on a connection of its own: llama-server closes connections it promised to keep."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=3600)
        try:
            payload = None if body is None else json.dumps(body, ensure_ascii=False).encode()
            connection.request(method, path, payload, {"Content-Type": "application/json", **(headers or {})})
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    def forget(self):
        """Empties the slot, so that a conversation starts cold, as it does in edge-agentic."""
        status, reply = self.call("POST", "/slots/0?action=erase", {})
        if status != 200:
            raise Stop(FAILED, f"llama-server did not empty its slot: HTTP {status} {reply}")

    def stream(self, ident, body):
        """One streamed turn, measured at the client: from the request's first byte to the stream's end."""
        payload = json.dumps(body, ensure_ascii=False).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=3600)
        connection.connect()
        try:
            begin = time.monotonic_ns()
            headers = {"Content-Type": "application/json", "X-Session-ID": ident}
            connection.request("POST", "/v1/chat/completions", payload, headers)
            response = connection.getresponse()
            if response.status != 200:
                raise Stop(FAILED, f"{ident}: llama-server answered HTTP {response.status}: {response.read()[:500]}")
            first, last = None, {}
            for line in response:
                now = time.monotonic_ns()
                if not line.startswith(b"data: {"):
                    continue
                event = json.loads(line[len(b"data: "):])
                first = first or (now if has_delta(event) else None)
                last = event if "timings" in event else last
            end = time.monotonic_ns()
        finally:
            connection.close()
        if not last:
            raise Stop(FAILED, f"{ident}: llama-server's stream ended without timings")
        timings = last["timings"]
        latency = (end - begin) / 1e6
        return {
            "prompt_tokens": last["usage"]["prompt_tokens"],
            "evaluated": timings["prompt_n"],
            "output": timings["predicted_n"],
            "latency": latency,
            "ttft": None if first is None else (first - begin) / 1e6,
            "outside": latency - timings["prompt_ms"] - timings["predicted_ms"],
            "prefill": timings["prompt_ms"],
            "decode": timings["predicted_ms"],
            "drafted": timings.get("draft_n", 0),
            "accepted": timings.get("draft_n_accepted", 0),
        }

    def decode_calls(self):
        """How often the server has called llama_decode, each with up to its batch size of tokens."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("GET", "/metrics")
            lines = connection.getresponse().read().decode().splitlines()
        finally:
            connection.close()
        found = (line.split()[-1] for line in lines if line.startswith("llamacpp:n_decode_total"))
        return next((round(float(value)) for value in found), None)

    def peak_memory(self):
        """The most memory that the process ever held (VmHWM), MiB; None where the system does not tell."""
        try:
            with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as status:
                return next((int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM")), None)
        except OSError:
            return None

    def turn(self, ident, body):
        """What the server made of one turn, in the terms of turns.jsonl."""
        status, reply = self.call("POST", "/v1/chat/completions", body, {"X-Session-ID": ident})
        if status != 200:
            error = reply.get("error", {})
            if error.get("type") == "exceed_context_size_error":
                return {"state": "failed_overflow", "prompt_tokens": error.get("n_prompt_tokens")}
            raise Stop(FAILED, f"{ident}: llama-server answered HTTP {status}: {error.get('message', reply)}")
        verbose = reply.get("__verbose", {})
        if "tokens" not in verbose:
            raise Stop(SETUP, "this llama-server does not name its token ids (return_tokens, verbose): use b11434")
        message = reply["choices"][0]["message"]
        calls = message.get("tool_calls") or []
        return {
            "state": "completed",
            "prompt_sha256": hashlib.sha256(verbose["prompt"].encode()).hexdigest(),
            "prompt_tokens": reply["usage"]["prompt_tokens"],
            "reused_tokens": reply["usage"]["prompt_tokens_details"]["cached_tokens"],
            "output_ids": verbose["tokens"],
            "content": message.get("content") or "",
            "reasoning_content": message.get("reasoning_content") or "",
            "tool_calls": [(call["function"]["name"], call["function"]["arguments"]) for call in calls],
        }


def has_delta(event):
    """Whether an event carries some of the reply: what the reference client takes for the first token."""
    deltas = (choice.get("delta", {}) for choice in event.get("choices", []))
    return any(d.get("content") or d.get("reasoning_content") or d.get("tool_calls") for d in deltas)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def drafts(args):
    """llama-server's arguments for what edge-agentic's --mtp and --synthetic-acceptance do."""
    if not args.mtp:
        return []
    rates = ["--spec-synth-rates", args.synthetic_acceptance] if args.synthetic_acceptance else []
    return ["--spec-type", "draft-mtp", "--spec-draft-n-max", str(args.mtp), "--spec-draft-p-min", "0", *rates]
