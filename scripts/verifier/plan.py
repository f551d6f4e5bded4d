"""Reads a plan and a plan file's summary (docs/formats/plan.md)."""

from verifier.reading import (Broken, Names, Record, amount, array, boolean, integer, integers, members, pair, quote, record,
                              schema, text)

STREAM_KINDS = ("compute", "swap-in", "swap-out", "communicate", "file-in", "file-out")


def read_plan(problem, value, where):
    graph, machine = problem.graph, problem.machine
    operator = Names([op.name for op in graph.operators], "operator")
    tensor = Names([tensor.name for tensor in graph.tensors], "tensor")
    device, memory = Names([d.name for d in machine.devices], "device"), Names(machine.memories, "memory")
    index = integers(0, (1 << 32) - 2)
    _, _, _, _, _, placed, arenas, streams, residencies, commands = members(
        value, where, schema=schema(1), solver=(text, ""), seed=(lambda v, w: read_seed(v, w), 0),
        evaluations=(integer, 0), stoppedByClock=(boolean, False), placement=array, arenas=array, streams=array,
        residencies=array, commands=array)
    plan = Record(device_of=[None] * len(graph.operators), arenas=[0] * len(machine.memories), streams=[],
                  residencies=[], commands=[], where=where)
    for i, entry in enumerate(placed):
        at = f"{where}.placement[{i}]"
        name, where_to = pair(entry, at)
        op = operator(name, at)
        if plan.device_of[op] is not None:
            raise Broken("placement", f"operator {quote(name)} is placed twice", at)
        plan.device_of[op] = device(where_to, at)
    if None in plan.device_of:
        name = graph.operators[plan.device_of.index(None)].name
        raise Broken("placement", f"operator {quote(name)} is not placed", f"{where}.placement")
    for i, entry in enumerate(arenas):
        name, size = pair(entry, f"{where}.arenas[{i}]")
        plan.arenas[memory(name, f"{where}.arenas[{i}]")] = integer(size, f"{where}.arenas[{i}]")
    for i, entry in enumerate(streams):
        at = f"{where}.streams[{i}]"
        name, kind = pair(entry, at)
        if kind not in STREAM_KINDS:
            raise Broken("format", f"stream kind {quote(kind)} is not one of {', '.join(STREAM_KINDS)}", at)
        plan.streams.append((device(name, at), kind))
    for i, entry in enumerate(residencies):
        at = f"{where}.residencies[{i}]"
        data, place, home, offset, size, initial = members(
            entry, at, tensor=(tensor, None), memory=memory, home=(boolean, False), offset=(integer, 0), bytes=integer,
            initial=(boolean, False))
        plan.residencies.append(Record(tensor=data, memory=place, home=home, offset=offset, bytes=size, initial=initial,
                                       end=offset + size, writer=None, touches={}))
    for i, entry in enumerate(commands):
        at = f"{where}.commands[{i}]"
        launch, ends, stream, reads, writes, waits = members(
            entry, at, launch=(operator, None), copy=(pair, None), stream=lambda v, w: integer(v, w, 0, (1 << 32) - 2),
            reads=index, writes=index, waits=(index, []))
        if (launch is None) == (ends is None):
            raise Broken("format", "a command must have either 'launch' or 'copy'", at)
        link = None
        if ends:
            link = machine.link_of.get((memory(ends[0], at), memory(ends[1], at)))
            if link is None:
                raise Broken("name", "no link of the machine joins the two memories", at)
        for what, ids, count in (("stream", [stream], len(streams)), ("residency", reads + writes, len(residencies))):
            if max(ids, default=-1) >= count:
                raise Broken("index", f"{what} {max(ids)} does not exist", at)
        plan.commands.append(Record(op=launch, link=link, stream=stream, reads=reads, writes=writes, waits=waits))
    return plan


def read_seed(value, where):
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 64:
        raise Broken("format", "seed is not an integer from 0 to 2^64 - 1", where)
    return value


def read_summary(problem, value, where):
    def baseline(entry, at):
        _, ns, reason = members(entry, at, strict=False, name=text, makespanNs=(amount, None), infeasible=(text, None))
        if ns is None and reason is None:
            raise Broken("format", "a baseline must have makespanNs or infeasible", at)
        text(entry.get("notTaken", ""), at)

    memories, baselines, splits, *_ = members(
        value, where, strict=False, memories=record, baselines=array, splits=(array, []), idealNs=amount,
        lowerBoundNs=amount, evaluations=amount, onceBoundNs=(amount, 0), certificate=(record, None),
        onceCertificate=(record, None))
    for i, entry in enumerate(baselines):
        baseline(entry, f"{where}.baselines[{i}]")
    for i, entry in enumerate(splits):
        members(entry, f"{where}.splits[{i}]", strict=False, operator=text, rule=text, parts=integer)
    for name in problem.machine.memories:
        if name not in memories:
            raise Broken("format", f"memory {quote(name)} is missing", f"{where}.memories")
        members(memories[name], f"{where}.memories.{name}", strict=False, minimumBytes=amount, peakBytes=amount)
