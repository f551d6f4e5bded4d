"""Ways to damage a plan file: each takes the document and a random generator, and returns it damaged, its text, or None
where it fits no part of this plan. Those here damage the plan and its summary; damage_problem.py has the others."""

import copy

MUTATIONS = {}


def mutation(function):
    MUTATIONS[function.__name__.replace("_", "-")] = function
    return function


def pick(rng, items):
    return rng.choice(items) if items else None


def renumber(plan, new_id):
    """Waits follow their commands; waits for commands that are gone are gone."""
    for command in plan["commands"]:
        command["waits"] = [new_id[wait] for wait in command.get("waits", []) if wait in new_id]


def reorder(plan, order):
    renumber(plan, {old: new for new, old in enumerate(order)})
    plan["commands"] = [plan["commands"][old] for old in order]


def change(document, rng, where, key, values):
    """Sets a member of a random entry to another value."""
    entries = [entry for entry in where if key in entry]
    entry = pick(rng, entries)
    if entry is None:
        return None
    others = [value for value in values(entry[key]) if value != entry[key]]
    if not others:
        return None
    entry[key] = rng.choice(others)
    return document


def ids_of(plan, what):
    return lambda _: list(range(len(plan[what]) + 1))


@mutation
def drop_command(document, rng):
    plan = document["plan"]
    gone = rng.randrange(len(plan["commands"]))
    reorder(plan, [i for i in range(len(plan["commands"])) if i != gone])
    return document


@mutation
def swap_commands(document, rng):
    order = list(range(len(document["plan"]["commands"])))
    if len(order) < 2:
        return None
    i, j = rng.sample(order, 2) if rng.random() < 0.5 else (k := rng.randrange(len(order) - 1), k + 1)
    order[i], order[j] = order[j], order[i]
    reorder(document["plan"], order)
    return document


@mutation
def duplicate_command(document, rng):
    commands = document["plan"]["commands"]
    commands.append(dict(rng.choice(commands)))
    return document


@mutation
def repeat_launch(document, rng):
    """With residencies of its own, beyond all others: valid where the operator may run again."""
    plan = document["plan"]
    command = dict(pick(rng, [c for c in plan["commands"] if "launch" in c]))
    made = []
    for residency in command["writes"]:
        entry = dict(plan["residencies"][residency])
        if "home" not in entry:
            index = [name for name, _ in plan["arenas"]].index(entry["memory"])
            name, size = plan["arenas"][index]
            entry["offset"] = (size + 63) // 64 * 64
            plan["arenas"][index] = [name, entry["offset"] + entry["bytes"]]
            document["summary"]["memories"][name]["arenaBytes"] = plan["arenas"][index][1]
        plan["residencies"].append(entry)
        made.append(len(plan["residencies"]) - 1)
    plan["commands"].append({**command, "writes": made, "waits": list(range(len(plan["commands"])))})
    document["summary"].pop("makespanNs")
    document["summary"]["computedAgain"] += 1
    return document


@mutation
def shift_address(document, rng):
    return change(document, rng, document["plan"]["residencies"], "offset",
                  lambda offset: [offset - 64, offset + 64, offset + 1, -64, 0, offset + 128, 1 << 40])


@mutation
def exchange_addresses(document, rng):
    placed = [entry for entry in document["plan"]["residencies"] if "offset" in entry]
    if len(placed) < 2:
        return None
    a, b = rng.sample(placed, 2)
    a["offset"], b["offset"] = b["offset"], a["offset"]
    return document


@mutation
def change_bytes(document, rng):
    return change(document, rng, document["plan"]["residencies"], "bytes",
                  lambda size: [size - 1, size + 1, size + 64, 0, -1, 1 << 62])


@mutation
def shrink_arena(document, rng):
    entry = rng.choice(document["plan"]["arenas"])
    entry[1] += rng.choice([-1, -64, 64, -entry[1] - 1, 1 << 62])
    if rng.random() < 0.5 and entry[0] in document["summary"]["memories"]:
        document["summary"]["memories"][entry[0]]["arenaBytes"] = entry[1]
    return document


@mutation
def shrink_capacity(document, rng):
    name, used = rng.choice(document["plan"]["arenas"])
    limit = used - rng.choice([0, 1, 64])
    if rng.random() < 0.5:
        document["problem"].setdefault("capacities", {})[name] = limit
        document["summary"]["memories"][name]["capacityBytes"] = limit
    else:
        next(m for m in document["problem"]["machine"]["memories"] if m["name"] == name)["capacity"] = limit
        if name not in document["problem"].get("capacities", {}):
            document["summary"]["memories"][name]["capacityBytes"] = limit
    return document


@mutation
def drop_wait(document, rng):
    command = pick(rng, [c for c in document["plan"]["commands"] if c.get("waits")])
    if command is None:
        return None
    command["waits"].remove(rng.choice(command["waits"]))
    if rng.random() < 0.5:
        document["summary"].pop("makespanNs")
    return document


@mutation
def drop_waits_of_all(document, rng):
    if not any(command.pop("waits", None) for command in document["plan"]["commands"]):
        return None
    document["summary"].pop("makespanNs")
    return document


@mutation
def change_wait(document, rng):
    commands = [c for c in document["plan"]["commands"] if c.get("waits")]
    command = pick(rng, commands)
    if command is None:
        return None
    command["waits"][rng.randrange(len(command["waits"]))] = rng.randrange(len(document["plan"]["commands"]) + 1)
    document["summary"].pop("makespanNs")
    return document


@mutation
def add_wait(document, rng):
    at = rng.randrange(len(document["plan"]["commands"]))
    command = document["plan"]["commands"][at]
    command["waits"] = command.get("waits", []) + [rng.randint(0, at)]
    document["summary"].pop("makespanNs")
    return document


@mutation
def move_to_stream(document, rng):
    if rng.random() < 0.2:
        document["summary"].pop("makespanNs")
    return change(document, rng, document["plan"]["commands"], "stream", ids_of(document["plan"], "streams"))


@mutation
def change_read(document, rng):
    command = pick(rng, [c for c in document["plan"]["commands"] if c["reads"]])
    if command is None:
        return None
    position = rng.randrange(len(command["reads"]))
    residencies = document["plan"]["residencies"]
    tensor = residencies[command["reads"][position]].get("tensor")
    same = [i for i, r in enumerate(residencies) if r.get("tensor") == tensor]
    command["reads"][position] = rng.choice(same) if rng.random() < 0.7 else rng.randint(0, len(residencies))
    return document


@mutation
def change_write(document, rng):
    command = rng.choice(document["plan"]["commands"])
    command["writes"][rng.randrange(len(command["writes"]))] = rng.randint(0, len(document["plan"]["residencies"]))
    return document


@mutation
def reorder_operands(document, rng):
    command = pick(rng, [c for c in document["plan"]["commands"] if len(c["reads"]) > 1 or len(c["writes"]) > 1])
    if command is None:
        return None
    rng.shuffle(command["reads"])
    rng.shuffle(command["writes"])
    return document


@mutation
def drop_operand(document, rng):
    command = rng.choice(document["plan"]["commands"])
    operands = command[rng.choice(["reads", "writes"])]
    if not operands:
        return None
    operands.pop()
    return document


@mutation
def toggle_initial(document, rng):
    entry = rng.choice(document["plan"]["residencies"])
    entry["initial"] = not entry.get("initial", False)
    return document


@mutation
def toggle_home(document, rng):
    entry = rng.choice(document["plan"]["residencies"])
    if entry.pop("home", False):
        entry["offset"] = 0
    else:
        entry["home"] = True
        if rng.random() < 0.5:
            entry["offset"] = 0
    return document


@mutation
def change_tensor(document, rng):
    names = [tensor["name"] for tensor in document["problem"]["graph"]["tensors"]]
    entry = rng.choice(document["plan"]["residencies"])
    if rng.random() < 0.2:
        return document if entry.pop("tensor", None) else None
    entry["tensor"] = rng.choice(names + ["nothing", "#0", "#999"])
    return document


@mutation
def change_memory(document, rng):
    names = [memory["name"] for memory in document["problem"]["machine"]["memories"]]
    return change(document, rng, document["plan"]["residencies"], "memory", lambda _: names + ["nowhere"])


@mutation
def change_link(document, rng):
    command = pick(rng, [c for c in document["plan"]["commands"] if "copy" in c])
    if command is None:
        return None
    names = [memory["name"] for memory in document["problem"]["machine"]["memories"]]
    command["copy"] = [rng.choice(names), rng.choice(names)]
    return document


@mutation
def change_placement(document, rng):
    devices = [device["name"] for device in document["problem"]["machine"]["devices"]]
    if rng.random() < 0.3 and document["problem"].get("placement"):
        placement = document["problem"]["placement"]
        placement[rng.randrange(len(placement))] = rng.choice(devices + [None])
        return document
    entry = rng.choice(document["plan"]["placement"])
    entry[1] = rng.choice(devices)
    return document


@mutation
def change_colocation(document, rng):
    for operator in document["problem"]["graph"]["operators"]:
        if rng.random() < 0.3:
            operator["colocation"] = rng.randint(-1, 1)
    return document


@mutation
def drop_placement(document, rng):
    placement = document["plan"]["placement"]
    if rng.random() < 0.5:
        placement.append(list(rng.choice(placement)))
    else:
        placement.pop()
    return document


@mutation
def change_stream(document, rng):
    plan = document["plan"]
    entry = rng.choice(plan["streams"])
    if rng.random() < 0.5:
        entry[1] = rng.choice(["compute", "swap-in", "swap-out", "communicate", "file-in", "file-out", "sideways"])
    else:
        entry[0] = rng.choice(document["problem"]["machine"]["devices"])["name"]
    return document


@mutation
def change_time(document, rng):
    summary = document["summary"]
    key = rng.choice(["makespanNs", "makespanNs", "lowerBoundNs"])
    summary[key] = rng.choice([summary[key] + 1, summary[key] - 1, summary["makespanNs"] + 1, -1])
    return document


@mutation
def change_cost(document, rng):
    row = rng.choice(document["problem"]["costs"])
    row[rng.randrange(len(row))] = rng.choice([0, -1, 10 ** 6, (1 << 63) - 1])
    return document


@mutation
def change_figure(document, rng):
    summary = document["summary"]
    if rng.random() < 0.5:
        key = rng.choice(["bytesSwappedIn", "bytesSwappedOut", "computedAgain"])
        summary[key] += rng.choice([1, -1, 64])
    else:
        memory = rng.choice(list(summary["memories"].values()))
        memory[rng.choice(["capacityBytes", "arenaBytes"])] = rng.choice([0, 12345, -1])
    return document


def proof_of(document, rng):
    """One of the certificates, and the key of its bound."""
    summary = document["summary"]
    keys = [key for key in ("certificate", "onceCertificate") if key in summary]
    key = pick(rng, keys)
    return (summary[key], "lowerBoundNs" if key == "certificate" else "onceBoundNs") if key else (None, None)


@mutation
def raise_bound(document, rng):
    """A bound above what its certificate proves, or without its certificate."""
    proof, key = proof_of(document, rng)
    if proof is None:
        return None
    if rng.random() < 0.2:
        document["summary"].pop("certificate" if key == "lowerBoundNs" else "onceCertificate")
    document["summary"][key] += rng.choice([0, 1, 1, 2, 100])
    return document


@mutation
def change_price(document, rng):
    proof, _ = proof_of(document, rng)
    if proof is None or proof["argument"] != "cuts":
        return None
    entries = [(segment, key) for segment in proof["segments"] for key in ("in", "out")]
    entries += [(load, 2) for segment in proof["segments"] for load in segment["work"]]
    entries += [(cut, 1) for cut in proof["cuts"]]
    where, key = rng.choice(entries)
    where[key] = rng.choice([0, where[key] // 2, where[key] + 1, where[key] * 2, -1, 1 << 55, 1_000_000, where[key] + 1000])
    return document


@mutation
def change_cuts(document, rng):
    """Other operators, another order, or another number of cuts."""
    proof, _ = proof_of(document, rng)
    if proof is None or not proof.get("cuts", proof.get("operators")):
        return None
    cuts = proof.get("cuts", proof.get("operators"))
    names = [operator["name"] for operator in document["problem"]["graph"]["operators"]]
    i, j = rng.randrange(len(cuts)), rng.randrange(len(cuts))
    kind = rng.randrange(4)
    if kind == 0:
        cuts[i], cuts[j] = cuts[j], cuts[i]
    elif kind == 1:
        cuts[i] = [rng.choice(names + ["nothing"]), cuts[i][1]] if "cuts" in proof else rng.choice(names + ["nothing"])
    elif kind == 2:
        cuts.pop(i)
        if "segments" in proof and rng.random() < 0.8:
            proof["segments"].pop(rng.randrange(len(proof["segments"])))
    else:
        cuts.insert(i, copy.deepcopy(cuts[j]))
        if "segments" in proof:
            proof["segments"].insert(i, copy.deepcopy(rng.choice(proof["segments"])))
    return document


@mutation
def change_proof(document, rng):
    """Another argument, memory, device or member."""
    proof, _ = proof_of(document, rng)
    if proof is None:
        return None
    machine = document["problem"]["machine"]
    key = rng.choice(list(proof))
    if key == "argument":
        proof[key] = rng.choice(["chain", "work", "cuts", "placements", "oath", 1])
    elif key == "memories":
        proof[key] = [rng.choice(machine["memories"])["name"] for _ in range(rng.randint(0, 2))]
    elif key == "device":
        proof[key] = rng.choice(machine["devices"])["name"]
    elif key == "stream":
        proof[key] = rng.choice(["compute", "communicate", "swap-in"])
    elif rng.random() < 0.5:
        proof.pop(key)
    else:
        proof[rng.choice([key, "unheard"])] = rng.choice([[], {}, "text", 7])
    return document
