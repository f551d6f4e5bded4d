"""The rules of a valid plan (docs/formats/verify-plan.md), by stages."""

import bisect

from verifier.reading import quote
from verifier.times import simulate

ALIGNMENT, MOST_CLOCKS = 64, 1 << 25
FILE_STREAMS = ("file-in", "file-out")


class Checker:
    def __init__(self, problem, plan):
        self.graph, self.machine, self.problem, self.plan = problem.graph, problem.machine, problem, plan
        self.broken = {}  # Per rule: its first message, and how many places break it.

    def report(self, rule, what, where, advice="make the plan anew"):
        message, count = self.broken.get(rule, (None, 0))
        self.broken[rule] = (message or f"{what}, at '{self.plan.where}.{where}', {advice}", count + 1)

    def run(self):
        """The simulated times of a plan that breaks no rule: start and end of each command."""
        for stage in (self.check_places, self.check_commands, self.build_clocks, self.check_order):
            stage()
            if self.broken:
                return None
        return simulate(self.problem, self.plan)

    def name(self, residency):
        data = self.plan.residencies[residency].tensor
        what = "workspace" if data is None else f"tensor {quote(self.graph.tensors[data].name)}"
        return f"{what} (residency {residency})"

    # Stage 1: what each place may hold.

    def check_places(self):
        machine, plan = self.machine, self.plan
        colours = {}
        for op, device in enumerate(plan.device_of):
            operator, pin = self.graph.operators[op], self.problem.pins[op]
            name = f"operator {quote(operator.name)}"
            if not machine.devices[device].computes:
                self.report("placement", f"{name} is placed on a device that does not compute", "placement")
            if pin is not None and pin != device:
                self.report("placement", f"{name} is not placed on the device that the problem requires", "placement")
            if operator.colour >= 0 and colours.setdefault(operator.colour, device) != device:
                self.report("placement", f"{name} is not on the device of the other operators of colocation "
                                         f"{operator.colour}", "placement")
        if len(set(plan.streams)) != len(plan.streams):
            self.report("streams", "a device has two streams of one kind", "streams")
        if any(kind in FILE_STREAMS for _, kind in plan.streams) and not any(machine.files):
            self.report("streams", "a stream is for files, and the machine has no file", "streams")
        for m, size in enumerate(plan.arenas):
            if not 0 <= size <= min(self.problem.capacities[m], machine.capacities[m]):
                self.report("capacity", f"the arena of memory {quote(machine.memories[m])} has {size} bytes and may "
                            f"have {min(self.problem.capacities[m], machine.capacities[m])}", "arenas")
        homes = self.homes = {}
        for i, r in enumerate(plan.residencies):
            at, data = f"residencies[{i}]", None if r.tensor is None else self.graph.tensors[r.tensor]
            if r.bytes < (data.bytes if data else 0):
                self.report("size", f"{self.name(i)} has {r.bytes} bytes, fewer than its data", at)
            if r.home:
                if not data or data.kind == "activation" and not data.output and data.updates is None:
                    self.report("home", f"{self.name(i)} is the home of a workspace or an activation, which must not have a home", at)
                elif r.offset != 0 or homes.setdefault(r.tensor, i) != i or r.memory != 0 and not (
                        machine.files[r.memory] and data.kind != "input" and not data.output):
                    self.report("home", f"{self.name(i)} has a second home, or one that is not at offset 0 of the "
                                        "host's memory or of a file", at)
            elif r.offset < 0 or r.offset % ALIGNMENT:
                self.report("alignment", f"{self.name(i)} is at {r.offset}, which must be a multiple of {ALIGNMENT}", at)
            elif r.end > plan.arenas[r.memory]:
                self.report("arena", f"{self.name(i)} ends at {r.end}, outside its arena of {plan.arenas[r.memory]}", at)
            given = data is not None and data.producer is None
            if r.initial if not r.home else data and r.initial != given:
                if r.home or not given or data.kind not in ("parameter", "state"):
                    self.report("initial", f"{self.name(i)} is{'' if r.initial else ' not'} marked 'initial', and "
                                f"must{' not' if r.initial else ''} be", at)

        self.check_homes()

    def check_homes(self):
        """A state and its new value have one home; where there are files, homes take the host's memory too."""
        plan, used = self.plan, self.plan.arenas[0]
        for tensor, home in self.homes.items():
            old = self.homes.get(self.graph.tensors[tensor].updates)
            if old is not None and plan.residencies[old].memory != plan.residencies[home].memory:
                self.report("home", f"{self.name(home)} is in a memory other than that of the home of its "
                                    "state", f"residencies[{home}]")
            if plan.residencies[home].memory == 0 and old is None:
                used += min(plan.residencies[home].bytes, self.graph.tensors[tensor].touched)
        most = min(self.problem.capacities[0], self.machine.capacities[0])
        if any(self.machine.files) and used > most:
            self.report("capacity", f"arena and homes of memory {quote(self.machine.memories[0])} have {used} bytes and "
                        f"may have {most}", "arenas")

    # Stage 2: what each command may do.

    def check_commands(self):
        launched, self.communication, self.communicated = set(), None, 0
        for i, c in enumerate(self.plan.commands):
            if any(wait >= i for wait in c.waits):
                self.report("issue-order", f"command {i} waits for a command that is not issued before this command", f"commands[{i}]")
            if c.op is None:
                self.check_copy(i, c)
            else:
                self.check_launch(i, c, c.op in launched)
                launched.add(c.op)
            for r in c.writes:
                residency = self.plan.residencies[r]
                if residency.initial or residency.writer is not None:
                    self.report("written-once", f"{self.name(r)} is marked 'initial' or already written, and is written again",
                                f"commands[{i}]")
                residency.writer = i
            for r in c.reads + c.writes:
                self.plan.residencies[r].touches[c.stream] = i
        for op, operator in enumerate(self.graph.operators):
            if op not in launched:
                self.report("launched", f"operator {quote(operator.name)} is never launched", "commands")

    def check_launch(self, i, c, again):
        op, at, residencies = self.graph.operators[c.op], f"commands[{i}]", self.plan.residencies
        device, kind = self.plan.streams[c.stream]
        tensors = self.graph.tensors
        if again and (self.graph.keeps_order and op.communicates or any(tensors[t].kind != "activation" or tensors[t].output or tensors[t].updates is not None
                         for t in op.outputs)):
            self.report("launched", f"operator {quote(op.name)} is launched twice, and the second launch would "
                                    "overwrite an output or a state", at)
        if device != self.plan.device_of[c.op] or kind != "compute" and not (op.communicates and kind == "communicate"):
            self.report("launch-stream", f"operator {quote(op.name)} runs on a stream of another device or kind", at)
        if op.communicates:
            self.communication = c.stream if self.communication is None else self.communication
            if self.communication != c.stream:
                self.report("communication", f"operator {quote(op.name)} communicates on a second stream", at)
            if self.graph.keeps_order and c.op < self.communicated:
                self.report("communication", f"operator {quote(op.name)} communicates after an operator that follows it "
                            "in the program of a rank of a pipeline", at)
            self.communicated = c.op
        made = len(op.outputs)
        space = [residencies[r] for r in c.writes[made:]]
        if [residencies[r].tensor for r in c.reads] != op.inputs or \
                [residencies[r].tensor for r in c.writes[:made]] != op.outputs:
            self.report("operands", f"operator {quote(op.name)} reads or writes tensors that are not its operands "
                                    "and results", at)
        if len(space) != (op.workspace > 0) or any(r.tensor is not None or r.bytes < op.workspace for r in space):
            self.report("workspace", f"operator {quote(op.name)} needs {op.workspace} bytes of workspace and does not "
                        "have one such residency after its outputs", at)
        if any(residencies[r].memory != self.machine.devices[device].memory for r in c.reads + c.writes):
            self.report("memory", f"operator {quote(op.name)} has an operand in a memory other than that of its "
                                  "device", at)

    def check_copy(self, i, c):
        at, ends = f"commands[{i}]", [self.plan.residencies[r] for r in c.reads + c.writes]
        if len(c.reads) != 1 or len(c.writes) != 1 or ends[0].tensor is None or ends[0].tensor != ends[1].tensor:
            self.report("copy", "a copy must move one tensor from one residency to another", at)
            return
        link = self.machine.links[c.link]
        if {ends[0].memory, ends[1].memory} != {link.a, link.b}:
            self.report("link", "the copy's link does not join the memories of its residencies", at)
        device, kind = self.plan.streams[c.stream]
        memory = self.machine.devices[device].memory
        of_file = self.machine.files[link.a] or self.machine.files[link.b]
        end = ends[0].memory if kind in ("file-in", "swap-out") else ends[1].memory
        if of_file != (kind in FILE_STREAMS):
            self.report("copy-stream", "a copy of a file is on a stream that is not for files, or a stream for "
                                       "files has another copy", at)
        elif of_file and not self.machine.files[end]:
            self.report("copy-stream", "a copy from a file is on a stream that copies to files, or the reverse", at)
        elif not of_file and (kind not in ("swap-in", "swap-out") or memory == 0 or memory != end):
            self.report("copy-stream", "the copy must be on the swap-in stream of an accelerator whose memory it "
                                       "writes, or on the swap-out stream of one whose memory it reads", at)

    # Stage 3: what happens before what, by vector clocks: of each stream, how many commands are complete.

    def build_clocks(self):
        used = {stream: k for k, stream in enumerate(dict.fromkeys(c.stream for c in self.plan.commands))}
        if len(used) * len(self.plan.commands) > MOST_CLOCKS:
            self.report("limits", f"{len(self.plan.commands)} commands on {len(used)} streams are too many to check",
                        "commands", "check a smaller plan")
            return
        last = {}
        for i, c in enumerate(self.plan.commands):
            clock = last.get(c.stream, [0] * len(used))
            for wait in c.waits:
                clock = list(map(max, clock, self.plan.commands[wait].clock))
            c.slot = used[c.stream]
            c.clock = list(clock)
            c.clock[c.slot] += 1
            last[c.stream] = c.clock

    def before(self, a, b):
        first = self.plan.commands[a]
        return a < b and self.plan.commands[b].clock[first.slot] >= first.clock[first.slot]

    # Stage 4: data and addresses.

    def check_order(self):
        residencies, tensors = self.plan.residencies, self.graph.tensors
        for i, c in enumerate(self.plan.commands):
            for r in c.reads:
                writer = residencies[r].writer
                if not residencies[r].initial and (writer is None or not self.before(writer, i)):
                    self.report("data-flow", f"command {i} reads {self.name(r)}, which no earlier command wrote",
                                f"commands[{i}]")
        for new, tensor in enumerate(tensors):
            writer = residencies[self.homes[new]].writer if new in self.homes else None
            if tensor.updates not in self.homes or writer is None:
                continue
            for reader in residencies[self.homes[tensor.updates]].touches.values():
                if reader != writer and not self.before(reader, writer):
                    old = quote(tensors[tensor.updates].name)
                    self.report("state-order", f"command {reader} reads the home of {old} and is not ordered before command "
                                f"{writer}, which writes the new value there", f"commands[{reader}]")
        # Per memory: starts of disjoint ranges, and for each its end and the residency that was created there last.
        self.starts, self.ranges = [[] for _ in self.plan.arenas], [{} for _ in self.plan.arenas]
        for r, residency in enumerate(residencies):
            if residency.initial:
                self.occupy(r, None)
        for i, c in enumerate(self.plan.commands):
            for r in c.writes:
                self.occupy(r, i)
        self.check_end()

    def occupy(self, r, creator):
        new = self.plan.residencies[r]
        if new.home or new.bytes == 0:
            return
        starts, ranges = self.starts[new.memory], self.ranges[new.memory]
        first = bisect.bisect_right(starts, new.offset)
        if first and ranges[starts[first - 1]][0] > new.offset:
            first -= 1
        stop = bisect.bisect_left(starts, new.end, first)
        kept = {}
        for start in starts[first:stop]:
            end, old = ranges.pop(start)
            if start < new.offset:
                kept[start] = (new.offset, old)
            if end > new.end:
                kept[new.end] = (end, old)
            touches = self.plan.residencies[old].touches.values()
            if creator is None or not all(self.may_displace(touch, old, r, creator) for touch in touches):
                self.report("overlap", f"{self.name(r)} overlaps {self.name(old)}, and a command that uses "
                                       f"{self.name(old)} is not ordered before the one that creates {self.name(r)}",
                            f"residencies[{r}]")
        kept[new.offset] = (new.end, r)
        ranges.update(kept)
        starts[first:stop] = sorted(kept)

    def may_displace(self, touch, old, new, creator):
        if touch != creator:
            return self.before(touch, creator)
        c, residencies = self.plan.commands[creator], self.plan.residencies
        return c.op is not None and residencies[old].offset == residencies[new].offset and any(
            c.reads[a] == old and c.writes[b] == new for a, b in self.graph.operators[c.op].in_place)

    def check_end(self):
        residencies, tensors = self.plan.residencies, self.graph.tensors

        def is_home(tensor):
            return tensor in self.homes and residencies[self.homes[tensor]].writer is not None

        kept = set()
        for i, r in enumerate(residencies):
            if not r.initial or r.home:
                continue
            kept.add(r.tensor)
            new = tensors[r.tensor].updated_by
            expected = r.tensor if new is None else new
            end, holder = self.ranges[r.memory].get(r.offset, (0, i))
            if tensors[expected].bytes and not (
                    residencies[holder].tensor == expected and residencies[holder].offset == r.offset
                    and end >= r.offset + tensors[expected].bytes):
                self.report("kept", f"the place of {self.name(i)} does not hold {quote(tensors[expected].name)} when the "
                            "step ends", f"residencies[{i}]")
        for i, tensor in enumerate(tensors):
            if tensor.output and tensor.producer is not None and not is_home(i):
                self.report("output", f"output {quote(tensor.name)} is not in its home when the step ends", "commands")
            old = tensor.updates
            if old is not None and not is_home(i) and (old in self.homes or old not in kept):
                self.report("state-home", f"new value {quote(tensor.name)} is not in its state's home when the step ends",
                            "commands")
