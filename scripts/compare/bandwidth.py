"""How much of a device's memory bandwidth generation uses: bytes of weights read per second ÷ what the memory can give.

Counted are the weights alone. Cells of the KV cache (64 KiB a token on the 27B) come on top, so the true share is higher.
"""

from compare.common import BAD_INPUT, SETUP, printed_json

# GB/s by what the name of the device or the board contains; the makers' data sheets.
KNOWN = (
    ("H200", 4800),
    ("H100 80GB HBM3", 3350),
    ("GB10", 273),
    ("DGX Spark", 273),
    ("Thor", 273),
    ("AGX Orin", 204.8),
    ("RYZEN AI MAX", 256),
    ("8060S", 256),
)


def of_device(binary):
    """(devices that llama.cpp sees, bandwidth in GB/s or None): by the names of the device, the board, the processor."""
    # Doctor ends with 3 where `run` would lack something, its data for instance.
    machine = printed_json([binary, "doctor", "--format", "json"], (0, SETUP))["machine"]
    devices = [f"{d['name']}: {d['description']}" for d in machine["devices"]]
    board = machine["board"]
    names = [*devices, machine["cpu"]["brand"]["value"], board["model"]["value"], board["product"]["value"]]
    text = " ".join(filter(None, names)).lower()
    return devices, next((speed for name, speed in KNOWN if name.lower() in text), None)


class Weights:
    """Bytes that a pass over the model reads, and that a draft reads."""

    def __init__(self, binary, model):
        sizes = {}
        for row in printed_json([binary, "inspect", model, "--format", "json"], (0, BAD_INPUT))["census"]:
            sizes[row["role"]] = sizes.get(row["role"], 0) + row["bytes"]
        embedding, mtp = sizes.pop("embedding", 0), sizes.pop("mtp", 0)
        # A model without an output matrix multiplies with its embedding; otherwise a token reads one row of that.
        output = sizes.get("output") or embedding
        self.per_pass = sum(sizes.values()) + (0 if "output" in sizes else embedding)
        self.per_draft = mtp + output

    def read(self, turn):
        """Bytes read while a turn generated what follows its first token."""
        passes = turn["output"] - 1 - turn["accepted"]
        return passes * self.per_pass + turn["drafted"] * self.per_draft
