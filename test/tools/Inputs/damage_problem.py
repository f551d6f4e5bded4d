"""Ways to damage the problem of a plan file, its members' types, and its text (see damage.py)."""

import json

from damage import mutation


@mutation
def change_graph_tensor(document, rng):
    tensor = rng.choice(document["problem"]["graph"]["tensors"])
    what = rng.randrange(4)
    if what == 0:
        tensor["bytes"] += rng.choice([1, -1, 64, 1 << 57])
    elif what == 1:
        tensor["kind"] = rng.choice(["activation", "parameter", "input", "state"])
    elif what == 2:
        tensor["output"] = not tensor.get("output", False)
    else:
        tensor["updates"] = rng.randrange(len(document["problem"]["graph"]["tensors"]))
    document["summary"].pop("makespanNs")
    for key in ("bytesSwappedIn", "bytesSwappedOut"):
        document["summary"].pop(key)
    return document


@mutation
def change_graph_operator(document, rng):
    graph = document["problem"]["graph"]
    operator = rng.choice(graph["operators"])
    what = rng.randrange(5)
    if what == 0:
        if not operator.pop("inPlace", None):
            return None
    elif what == 1:
        operator["workspaceBytes"] = operator.get("workspaceBytes", 0) + rng.choice([1, 64, -1])
    elif what == 2:
        operator["communicates"] = not operator.get("communicates", False)
    elif what == 3:
        operator["inputs"].reverse()
        if rng.random() < 0.5:
            operator["inputs"].append(rng.randrange(len(graph["tensors"])))
    else:
        operator["name"] = rng.choice(graph["operators"])["name"]
    return document


@mutation
def change_machine(document, rng):
    machine = document["problem"]["machine"]
    what = rng.randrange(6)
    if what == 4:
        rng.choice(machine["links"])["trunk"] = rng.choice(machine["links"])["between"]
    elif what == 5:
        rng.choice(machine["memories"])["kind"] = rng.choice(["ram", "file", "tape"])
    elif what == 0:
        machine["links"].pop(rng.randrange(len(machine["links"])))
    elif what == 1:
        link = rng.choice(machine["links"])
        link[rng.choice(["bytesPerSec", "reverseBytesPerSec", "duplexBytesPerSec"])] = rng.choice(
            [0, 1e8, -5, 1e22, "12GB/s", "1.5 parsecs"])
    elif what == 2:
        device = rng.choice(machine["devices"])
        device[rng.choice(["computes", "memory", "speed", "name"])] = rng.choice([False, "host", 0.5, "accel0"])
    else:
        rng.choice(machine["links"])["latency"] = rng.choice(["1us", "2h", -3, "0.5ns", 7])
    return document


def places(value, found):
    """Every container and key of a document."""
    if isinstance(value, (dict, list)):
        for key in (value if isinstance(value, dict) else range(len(value))):
            found.append((value, key))
            places(value[key], found)
    return found


@mutation
def wrong_type(document, rng):
    container, key = rng.choice(places(document, []))
    container[key] = rng.choice([None, True, "text", "", [], {}, 0.5, -1, 1 << 70, 3.0, [[]], "#0", 1e300])
    return document


@mutation
def missing_member(document, rng):
    container, key = rng.choice(places(document, []))
    del container[key]
    return document


@mutation
def unknown_member(document, rng):
    containers = [container for container, _ in places(document, []) if isinstance(container, dict)]
    rng.choice(containers)["unheard"] = 1
    return document


@mutation
def truncated(document, rng):
    text = json.dumps(document)
    return text[:rng.randrange(len(text))]


@mutation
def broken_text(document, rng):
    text = json.dumps(document)
    at = rng.randrange(len(text))
    return text[:at] + rng.choice(["NaN", "Infinity", "\\ud800", "}", "\x00", "9" * 400, "-", "\u00e9"]) + text[at + 1:]
