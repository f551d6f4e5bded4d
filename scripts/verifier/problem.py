"""Reads a planning problem: graph, machine, times and capacities (docs/formats/problem.md, machine.md)."""

import math

from verifier.reading import (INT_MAX, SIZES, TIMES, Broken, Record, amount, array, boolean, byte_rate, integer, integers,
                              members, pair, quantity, quote, real, record, schema, text)

MOST_BYTES, HOUR_NS = 1 << 56, 3_600_000_000_000


def read_graph(value, where):
    _, _, keeps_order, given, operators = members(value, where, schema=schema(1), name=(text, ""),
                                                  keepsOrder=(boolean, False), tensors=array, operators=array)
    graph = Record(tensors=[], operators=[], keeps_order=keeps_order)
    top = len(given) - 1
    for i, entry in enumerate(given):
        at = f"{where}.tensors[{i}]"
        name, kind, size, touched, _, _, output, updates = members(
            entry, at, name=text, kind=text, bytes=integer, touchedBytes=(integer, 0), pooled=(boolean, False),
            type=(text, ""),
            output=(boolean, False), updates=(lambda v, w: integer(v, w, 0, top), None))
        if kind not in ("activation", "parameter", "input", "state"):
            raise Broken("format", f"tensor kind {quote(kind)} is unknown", at)
        if not 0 <= touched <= size or touched and kind != "parameter":
            raise Broken("format", "the tensor has more touched bytes than bytes, or has them and is not a parameter", at)
        graph.tensors.append(Record(name=name, kind=kind, bytes=size, touched=touched or size, output=output,
                                    updates=updates, updated_by=None, producer=None, readers=[], where=at))
    for i, tensor in enumerate(graph.tensors):
        if tensor.updates is not None:
            graph.tensors[tensor.updates].updated_by = i
    ids = integers(0, top)
    for i, entry in enumerate(operators):
        at = f"{where}.operators[{i}]"
        name, kind, inputs, outputs, flops, moved, workspace, _, _, pairs, colour, communicates = members(
            entry, at, name=text, kind=text, inputs=ids, outputs=ids, flops=(integer, 0), bytesMoved=(integer, 0),
            workspaceBytes=(integer, 0), demandBytes=(integer, 0), signature=(text, ""), inPlace=(array, []),
            colocation=(lambda v, w: integer(v, w, -1, (1 << 31) - 1), -1), communicates=(boolean, False))
        in_place = {tuple(integers(0, INT_MAX)(pair(entry, at), at)) for entry in pairs}
        if any(a >= len(inputs) or b >= len(outputs) for a, b in in_place):
            raise Broken("format", "an in-place pair names an operand that does not exist", at)
        graph.operators.append(Record(name=name, kind=kind, inputs=inputs, outputs=outputs, flops=flops, moved=moved,
                                      workspace=workspace, in_place=in_place, colour=colour, communicates=communicates,
                                      where=at))
        for tensor in dict.fromkeys(inputs):
            graph.tensors[tensor].readers.append(i)
    check_graph(graph, where)
    return graph


def check_graph(graph, where):
    def need(holds, what, place):
        if not holds:
            raise Broken("problem", what, place)

    tensors = graph.tensors
    need(len({op.name for op in graph.operators}) == len(graph.operators), "two operators have one name", where)
    for i, op in enumerate(graph.operators):
        need(op.outputs, "an operator without outputs", op.where)
        need(all(len(set(ids)) == len(ids) for ids in (op.inputs, op.outputs)), "a tensor is listed twice", op.where)
        need(min(op.flops, op.moved) >= 0, "flops or bytes moved are negative", op.where)
        need(0 <= op.workspace <= MOST_BYTES, "workspaceBytes is not from 0 to 2^56", op.where)
        for output in op.outputs:
            need(tensors[output].kind in ("activation", "state"), "a parameter or an input is written", op.where)
            need(tensors[output].producer is None, f"{quote(tensors[output].name)} has two producers", op.where)
            tensors[output].producer = i
    for i, tensor in enumerate(tensors):
        need(0 <= tensor.bytes <= MOST_BYTES, "bytes is not from 0 to 2^56", tensor.where)
        made = tensor.producer is not None
        need(made or tensor.kind != "activation" or not (tensor.readers or tensor.output), "the tensor is read or "
                                                                                           "an output, and no operator writes it", tensor.where)
        if tensor.updates is not None:
            state = tensors[tensor.updates]
            need(state.updated_by == i, "a state has two new values", tensor.where)
            need(state.kind == "state" and state.producer is None and state.updates is None,
                 "the tensor updates something other than a state from before the step", tensor.where)
            need(state.bytes == tensor.bytes and made, "the new value of a state differs in bytes from the state, "
                                                       "or no operator writes it", tensor.where)
        else:
            need(tensor.kind != "state" or not made, "an operator writes a state that does not name the state to "
                                                     "update", tensor.where)
    before = [set() for _ in graph.operators]
    for i, op in enumerate(graph.operators):
        before[i].update(tensors[t].producer for t in op.inputs if tensors[t].producer is not None)
        for old in (tensors[t].updates for t in op.outputs):
            before[i].update(r for r in (tensors[old].readers if old is not None else ()) if r != i)
    after = [[] for _ in before]
    for i, earlier in enumerate(before):
        for j in earlier:
            after[j].append(i)
    missing, graph.order = [len(earlier) for earlier in before], [i for i, earlier in enumerate(before) if not earlier]
    for i in graph.order:
        for j in after[i]:
            missing[j] -= 1
            if missing[j] == 0:
                graph.order.append(j)
    need(len(graph.order) == len(before), "operators form a cycle", where)
    graph.before = before


def read_machine(value, where):
    def need(holds, what, place=where):
        if not holds:
            raise Broken("problem", what, place)

    _, name, memories, devices, links = members(value, where, schema=schema(1), name=(text, ""), memories=array,
                                                devices=array, links=(array, []))
    need(max(len(memories), len(devices), len(links)) <= 4096, "more than 4096 entries")
    machine = Record(name=name, memories=[], capacities=[], files=[], devices=[], links=[], link_of={}, group_of={})
    for i, entry in enumerate(memories):
        at = f"{where}.memories[{i}]"
        memory, capacity, kind = members(entry, at, name=text, capacity=(quantity(SIZES), INT_MAX), kind=(text, "ram"))
        need(capacity >= 0, "a capacity is negative", at)
        if kind not in ("ram", "file"):
            raise Broken("format", f"memory kind {quote(kind)} is unknown", at)
        need(kind == "file" if any(machine.files) else i > 0 or kind == "ram", "files are not last, after the host's", at)
        machine.memories.append(memory)
        machine.capacities.append(capacity)
        machine.files.append(kind == "file")
    need(memories and all(machine.memories) and len(set(machine.memories)) == len(memories),
         "there is no memory, or a memory's name is empty or used twice")

    def memory_named(value, place):
        need(text(value, place) in machine.memories, f"memory {quote(value)} is not in the machine", place)
        return machine.memories.index(value)

    def latency(value, place):
        return int(real(quantity(TIMES)(value, place), place, 0, HOUR_NS))

    for i, entry in enumerate(links):
        at = f"{where}.links[{i}]"
        ends, rate, reverse, duplex, wait, event, _, trunk = members(
            entry, at, between=pair, bytesPerSec=(byte_rate, 1.2e10), reverseBytesPerSec=(byte_rate, None),
            duplexBytesPerSec=(byte_rate, None), latency=(latency, 10000), eventLatency=(latency, 0),
            throttle=(boolean, False), trunk=(pair, None))
        a, b = (memory_named(end, at) for end in ends)
        back = rate if reverse is None else reverse
        duplex = rate + back if duplex is None else duplex
        need(a != b and (a, b) not in machine.link_of, "a link joins a memory to itself, or two the same memories", at)
        need(not (machine.files[a] and machine.files[b]), "a link joins two files", at)
        need(1 <= rate <= 1e21 and 1 <= back <= 1e21 and max(rate, back) <= duplex <= rate + back,
             "a rate is out of range", at)
        need(wait + 2 * event <= HOUR_NS, "latency and twice the event latency are above one hour", at)
        machine.link_of[a, b] = machine.link_of[b, a] = i
        machine.links.append(Record(a=a, b=b, rate=rate, reverse=reverse, duplex=duplex, latency=wait, event=event,
                                    trunk=trunk and tuple(memory_named(end, at) for end in trunk), where=at))
    check_trunks(machine, need)
    fraction = {}
    for i, entry in enumerate(devices):
        at = f"{where}.devices[{i}]"
        device, kind, memory, computes, flops, rate, overhead, fraction, _, speed = members(
            entry, at, name=text, kind=(text, "cpu"), memory=memory_named, computes=(boolean, True),
            flopsPerSec=(real, 1e11), memoryBytesPerSec=(byte_rate, 2e10), launchOverhead=(latency, 1000),
            efficiency=(record, {}), threads=(lambda v, w: integer(v, w, 1, 65536), 1),
            speed=(lambda v, w: real(v, w, 1e-6, 1), 1.0))
        fraction = {key: real(part, f"{at}.efficiency", 1e-6, 1e6) for key, part in fraction.items()}
        if kind not in ("cpu", "emulated", "cuda"):
            raise Broken("format", f"device kind {quote(kind)} is unknown", at)
        need(1 <= flops <= 1e21 and 1 <= rate <= 1e21, "a rate is not from 1 to 1e21", at)
        need(not machine.files[memory], "the device's memory is a file", at)
        need(memory == 0 or (0, memory) in machine.link_of, "the device's memory has no link to the host's", at)
        machine.devices.append(Record(name=device, memory=memory, computes=computes, flops=flops, rate=rate,
                                      overhead=overhead, efficiency=fraction, speed=speed if kind == "emulated" else 1.0))
    names = [device.name for device in machine.devices]
    need(all(names) and len(set(names)) == len(names), "a device's name is empty or used twice")
    need(any(device.computes for device in machine.devices), "no device computes")
    for m, is_file in enumerate(machine.files):
        others = {d.memory for d in machine.devices if d.computes} - {0}
        need(not is_file or (0, m) in machine.link_of or others and all((other, m) in machine.link_of for other in others),
             "a file has a link neither to the host's memory nor to those of all accelerators that compute")
    return machine


def check_trunks(machine, need):
    """Resolves trunks to links, and fills group_of: per link, the links whose rates depend on one another."""
    for i, link in enumerate(machine.links):
        if link.trunk is None:
            continue
        need(link.trunk in machine.link_of, "no link joins the memories of a trunk", link.where)
        link.trunk = machine.link_of[link.trunk]
        trunk = machine.links[link.trunk]
        need(link.trunk != i and {link.a, link.b} & {trunk.a, trunk.b}, "a link has no memory in common with its trunk, "
             "or is its own", link.where)
        machine.group_of.setdefault(link.trunk, {link.trunk}).add(i)
    for trunk, group in list(machine.group_of.items()):
        need(machine.links[trunk].trunk is None, "a trunk has a trunk itself", machine.links[trunk].where)
        for i in group:
            machine.group_of[i] = sorted(group)


def moving_ns(size, rate):
    ns = size / (rate * 1e-9) - 1e-6
    return 0 if not ns > 0 else 1 << 62 if ns >= 2.0 ** 62 else math.ceil(ns)


def efficiency_of(device, kind):
    """The entry of the kind, else of what precedes its last dot, and so on."""
    while kind not in device.efficiency and "." in kind:
        kind = kind.rpartition(".")[0]
    return device.efficiency.get(kind, 1.0)


def roofline(graph, machine):
    costs = []
    for op in graph.operators:
        moved = op.moved or sum(graph.tensors[t].bytes for t in op.inputs + op.outputs)
        costs.append([max(1, device.overhead + max(
            moving_ns(float(op.flops), device.flops * efficiency_of(device, op.kind) * device.speed),
            moving_ns(float(moved), device.rate * device.speed))) for device in machine.devices])
    return costs


def read_problem(value, where):
    _, graph, machine, costs, capacities, placement = members(
        value, where, schema=schema(1), graph=read_graph, machine=read_machine, costs=(array, None),
        capacities=(record, {}), placement=(array, []))
    devices = [device.name for device in machine.devices]
    if costs is None:
        costs = roofline(graph, machine)
    else:
        row = integers(1, INT_MAX)
        costs = [row(entry, f"{where}.costs[{i}]") for i, entry in enumerate(costs)]
        if len(costs) != len(graph.operators) or any(len(row) != len(devices) for row in costs):
            raise Broken("problem", "costs must have a row for each operator, with a time for each "
                                    "device", f"{where}.costs")
    limits = list(machine.capacities)
    for name, size in capacities.items():
        if name not in machine.memories:
            raise Broken("problem", f"memory {quote(name)} is not in the machine", f"{where}.capacities")
        limits[machine.memories.index(name)] = amount(size, f"{where}.capacities")
    known = {device.name for device in machine.devices if device.computes}
    if placement and len(placement) != len(graph.operators):
        raise Broken("problem", "placement must have an entry for each operator", f"{where}.placement")
    if any(name is not None and text(name, f"{where}.placement") not in known for name in placement):
        raise Broken("problem", "placement names something other than a device that computes", f"{where}.placement")
    pins = [None if name is None else devices.index(name) for name in placement] or [None] * len(graph.operators)
    return Record(graph=graph, machine=machine, costs=costs, capacities=limits, pins=pins)
