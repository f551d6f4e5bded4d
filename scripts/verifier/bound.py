"""What the certificate of a lower bound proves (docs/formats/verify-plan.md, "What the lower bound proves")."""

import math

from verifier.problem import moving_ns
from verifier.reading import INT_MAX, Broken, Names, array, integer, members, quote, text

MOST_CUTS, MOST_PRICE, WHOLE = 256, 1 << 54, 1_000_000
PER_NS = 10 ** 9  # Attoseconds.
PER_SHARE = PER_NS // WHOLE
NEVER = 1 << 126
ADVICE = "make the plan anew"


def proven_by(problem, plan, value, where, repeats):
    """The time in nanoseconds that a certificate proves, and its argument in words."""
    kinds = {"chain": chain, "work": work, "cuts": cuts, "placements": placements}
    kind = text(value.get("argument") if isinstance(value, dict) else value, f"{where}.argument")
    if kind not in kinds:
        raise Broken("format", f"argument {quote(kind)} is not chain, work, cuts or placements", where)
    return kinds[kind](problem, plan, value, where, repeats)


def names_of(problem):
    graph, machine = problem.graph, problem.machine
    return (Names([op.name for op in graph.operators], "operator"), Names([d.name for d in machine.devices], "device"),
            Names(machine.memories, "memory"))


def load_kind(value, where):
    if text(value, where) not in ("compute", "communicate"):
        raise Broken("format", f"stream {quote(value)} is neither compute nor communicate", where)
    return value == "communicate"


class Paths:
    """Least times of copies, of what comes before operators and of what comes after them."""

    def __init__(self, problem, plan):
        self.graph, self.machine = problem.graph, problem.machine
        self.ns = [problem.costs[op][device] for op, device in enumerate(plan.device_of)]
        self.memory = [self.machine.devices[device].memory for device in plan.device_of]

    def fastest(self, end, size):
        rates = [(link.latency, max(link.rate, link.reverse or 0)) for link in self.machine.links if end in (link.a, link.b)]
        return min((min(wait + moving_ns(float(size), rate), INT_MAX) for wait, rate in rates), default=INT_MAX)

    def copy(self, source, target, size):
        if source == target:
            return 0
        leaves, enters = self.fastest(source, size), self.fastest(target, size)
        return max(leaves, enters) if (source, target) in self.machine.link_of else min(leaves + enters, INT_MAX)

    def entry(self, op):
        tensors = [self.graph.tensors[t] for t in self.graph.operators[op].inputs]
        return max((self.copy(0, self.memory[op], t.bytes) for t in tensors if t.kind == "input"), default=0)

    def leave(self, op):
        tensors = [self.graph.tensors[t] for t in self.graph.operators[op].outputs]
        return max((self.copy(self.memory[op], 0, t.bytes) for t in tensors if t.output), default=0)

    def step(self, earlier, later):
        tensors = [self.graph.tensors[t] for t in self.graph.operators[later].inputs]
        return max((self.copy(self.memory[earlier], self.memory[later], t.bytes) for t in tensors if t.producer == earlier),
                   default=None)


def chain(problem, plan, value, where, _):
    operator, _, _ = names_of(problem)
    _, given = members(value, where, argument=text, operators=array)
    ops = [operator(name, f"{where}.operators[{i}]") for i, name in enumerate(given)]
    if not ops and not problem.graph.operators:
        return 0, "a chain of 0 operators with its copies"  # Of a graph without operators.
    if not ops:
        raise Broken("cut-order", "a chain has no operators", where, ADVICE)
    paths = Paths(problem, plan)
    total = paths.entry(ops[0]) + sum(paths.ns[op] for op in ops) + paths.leave(ops[-1])
    for earlier, later in zip(ops, ops[1:]):
        step = paths.step(earlier, later)
        if step is None:
            raise Broken("cut-order", f"operator {quote(problem.graph.operators[later].name)} reads no result of "
                                      "the previous one", where, ADVICE)
        total += step
    return min(total, INT_MAX), f"a chain of {len(ops)} operators with its copies"


def work(problem, plan, value, where, _):
    _, device, _ = names_of(problem)
    _, device_id, communicates = members(value, where, argument=text, device=device, stream=load_kind)
    graph, paths = problem.graph, Paths(problem, plan)
    head, tail = [0] * len(graph.operators), [0] * len(graph.operators)
    for op in graph.order:
        makers = {graph.tensors[t].producer for t in graph.operators[op].inputs} - {None}
        head[op] = max([paths.entry(op)] + [head[m] + paths.ns[m] + paths.step(m, op) for m in makers])
    for op in reversed(graph.order):
        readers = {r for t in graph.operators[op].outputs for r in graph.tensors[t].readers}
        tail[op] = max([paths.leave(op)] + [paths.step(op, r) + paths.ns[r] + tail[r] for r in readers])
    own = [op for op, entry in enumerate(graph.operators)
           if plan.device_of[op] == device_id and entry.communicates == communicates]
    if not own:
        raise Broken("proof", "the device has no work of this kind", where, ADVICE)
    total = min(head[op] for op in own) + sum(paths.ns[op] for op in own) + min(tail[op] for op in own)
    return min(total, INT_MAX), f"the work of device {quote(problem.machine.devices[device_id].name)}"


def placements(problem, _, value, where, __):
    """Chains and all work, each operator on the device that is best for it. Holds for every placement."""
    members(value, where, argument=text)
    graph, machine = problem.graph, problem.machine
    devices = [d for d, device in enumerate(machine.devices) if device.computes]
    count, moves = len(machine.memories), {}

    def moves_of(size):
        """Least times between all memories, over any number of links."""
        if size in moves:
            return moves[size]
        least = [[0 if a == b else INT_MAX for b in range(count)] for a in range(count)]
        for link in machine.links:
            ns = min(link.latency + moving_ns(float(size), max(link.rate, link.reverse or 0)), INT_MAX)
            for a, b in ((link.a, link.b), (link.b, link.a)):
                least[a][b] = min(least[a][b], ns)
        for via in range(count):
            for a in range(count):
                for b in range(count):
                    least[a][b] = min(least[a][b], least[a][via] + least[via][b])
        moves[size] = least
        return least

    def arrival(tensor, memory):
        least = moves_of(tensor.bytes)
        if tensor.producer is not None:
            return min(end + least[machine.devices[d].memory][memory] for d, end in ends[tensor.producer].items())
        return least[0][memory] if tensor.kind == "input" else 0

    ends, path, total = {}, 0, 0  # Per operator: the earliest end on each device.
    for op in graph.order:
        operator, pin = graph.operators[op], problem.pins[op]
        allowed = [d for d in devices if pin in (None, d)]
        ends[op] = {d: problem.costs[op][d] + max((arrival(graph.tensors[t], machine.devices[d].memory)
                                                   for t in operator.inputs), default=0) for d in allowed}
        if not operator.communicates:
            total += min(problem.costs[op][d] for d in allowed)
        path = max([path, min(ends[op].values())] + [arrival(graph.tensors[t], 0) for t in operator.outputs
                                                     if graph.tensors[t].output])
    return min(max(path, -(-min(total, INT_MAX) // len(devices))), INT_MAX), "chains and work on the fastest devices"


def cuts(problem, plan, value, where, repeats):
    proof = Cuts(problem, plan, value, where, repeats)
    count = len(proof.cuts)
    return proof.total(), f"work and bytes across {count} cut{'s' * (count != 1)}"


class Cuts:
    """States of a tensor: 'unborn', 'absent' (there is a copy outside), 'clean' (inside, and there is one outside), 'dirty'
    (inside alone), 'lost' (nowhere, to be made again)."""

    def __init__(self, problem, plan, value, where, repeats):
        self.problem, self.graph, self.machine, self.where, self.repeats = problem, problem.graph, problem.machine, where, repeats
        self.device_of = plan.device_of
        operator, device, memory = names_of(problem)
        _, memories, given, segments = members(value, where, argument=text, memories=array, cuts=array, segments=array)
        self.inside = [memory(name, f"{where}.memories[{i}]") for i, name in enumerate(memories)]
        self.cuts, self.price = [], []
        for i, entry in enumerate(given):
            at = f"{where}.cuts[{i}]"
            name, price = self.tuple_of(entry, 2, at)
            self.cuts.append(operator(name, at))
            self.price.append(integer(price, at))
        self.segments = []
        for i, entry in enumerate(segments):
            at = f"{where}.segments[{i}]"
            into, out, loads, enters, leaves = members(entry, at, **{
                "in": integer, "out": integer, "work": array, "copiesIn": (integer, 0), "copiesOut": (integer, 0)})
            shares = []
            for load in loads:
                name, stream, share = self.tuple_of(load, 3, at)
                shares.append(((device(name, at), load_kind(stream, at)), integer(share, at)))
            self.segments.append((into, out, shares, enters, leaves))
        self.check_shape()
        self.check_prices()
        self.divide()

    @staticmethod
    def tuple_of(value, size, where):
        if len(array(value, where)) != size:
            raise Broken("format", f"expected {size} elements", where)
        return value

    def fail(self, rule, what):
        raise Broken(rule, what, self.where, ADVICE)

    def check_shape(self):
        files = self.machine.files
        if len(self.cuts) > MOST_CUTS or len(self.segments) != len(self.cuts) + 1:
            self.fail("certificate", f"{len(self.cuts)} cuts and {len(self.segments)} segments do not fit each other, or "
                                     f"there are more cuts than {MOST_CUTS}")
        if not self.inside or len(set(self.inside)) != len(self.inside) or any(files[m] for m in self.inside):
            self.fail("certificate", "the list of memories is empty, names one twice or names a file")
        if 0 in self.inside and not any(files):
            self.fail("certificate", "bytes of homes count only on machines with files")
        total = sum(t.bytes for t in self.graph.tensors) + sum(op.workspace for op in self.graph.operators)
        if total >= 1 << 62:
            self.fail("certificate", "all tensors together exceed 2^62 bytes")

    def check_prices(self):
        def crosses(link):
            return (link.a in self.inside) != (link.b in self.inside)

        into = out = both = 0.0
        links = self.machine.links
        for link in links:
            if crosses(link) and not (link.trunk is not None and crosses(links[link.trunk])):
                back = link.rate if link.reverse is None else link.reverse
                into += back if link.a in self.inside else link.rate
                out += link.rate if link.a in self.inside else back
                both += link.duplex
        known = max(into, out, both) * (1 + 1e-6) < 1e15
        into, out, both = (math.ceil(rate * (1 + 1e-6)) if known else 0 for rate in (into, out, both))
        both = min(both, into + out)
        self.find_lanes(known)
        for enter, leave, shares, *copies in self.segments:
            if any(not 0 <= share <= WHOLE or share and not self.lane_rate for share in copies):
                self.fail("prices", f"a share of copies is not from 0 to {WHOLE}, or the links of the memories are too fast")
            if any(not 0 <= share <= WHOLE for _, share in shares) or len({load for load, _ in shares}) != len(shares):
                self.fail("prices", f"a share is not from 0 to {WHOLE}, or the work of a device has two shares in one segment")
            if not 0 <= min(enter, leave) <= max(enter, leave) <= MOST_PRICE:
                self.fail("prices", f"a price of a copied byte is not from 0 to {MOST_PRICE}")
            if not known and enter + leave:
                self.fail("prices", "the links of the memories are too fast for prices of bytes")
            most = max(enter * into + leave * min(out, both - min(into, both)),
                       enter * min(into, both - min(out, both)) + leave * out)
            shared = sum(share for _, share in shares) + self.lanes * sum(copies)
            if most > (WHOLE - shared) * PER_SHARE * PER_NS:
                self.fail("prices", "the prices of a segment exceed its time")
        if any(not 0 <= price <= MOST_PRICE for price in self.price):
            self.fail("prices", f"a price of memory is not from 0 to {MOST_PRICE}")

    def find_lanes(self, known):
        """The streams that may copy across the border in each direction, and the best of their links."""
        links = [link for link in self.machine.links if (link.a in self.inside) != (link.b in self.inside)]
        files = self.machine.files
        rate = max((max(link.rate, link.reverse or 0) for link in links), default=0.0)
        self.lane_rate = math.ceil(rate * (1 + 1e-6)) if known else 0
        self.lane_latency = min((link.latency for link in links), default=0)
        ends = {m for link in links if not (files[link.a] or files[link.b]) for m in (link.a, link.b)} - {0}
        of_file = any(files[link.a] or files[link.b] for link in links)
        self.lanes = sum((device.memory in ends) + of_file for device in self.machine.devices)

    def divide(self):
        """Per operator the segments in which its first launch may be."""
        graph, end = self.graph, len(self.cuts)
        number = {op: j + 1 for j, op in enumerate(self.cuts)}
        if len(number) != end:
            self.fail("cut-order", "an operator is used for two cuts")
        self.first, self.last = [0] * len(graph.operators), [end] * len(graph.operators)
        makers = [{graph.tensors[t].producer for t in op.inputs} - {None} for op in graph.operators]
        for op in graph.order:
            self.first[op] = max([number.get(op, 0)] + [self.first[maker] for maker in makers[op]])
        for op in reversed(graph.order):
            for maker in makers[op]:
                self.last[maker] = min(self.last[maker], number[op] - 1 if op in number else self.last[op])
        for j, op in enumerate(self.cuts, 1):
            if self.first[op] != j or j < end and self.last[op] != j:
                self.fail("cut-order", f"operator {quote(graph.operators[op].name)} does not precede the next cut")
        self.shares = [dict(shares) for _, _, shares, *_ in self.segments]

    def is_in(self, op):
        return self.machine.devices[self.device_of[op]].memory in self.inside

    def share(self, op, segment):
        return self.shares[segment].get((self.device_of[op], self.graph.operators[op].communicates), 0)

    def ns(self, op):
        return self.problem.costs[op][self.device_of[op]]

    def total(self):
        price = 0
        for op in range(len(self.graph.operators)):
            least = min(self.share(op, s) for s in range(self.first[op], self.last[op] + 1))
            price += self.ns(op) * least * PER_SHARE
        homes = 0
        for i, tensor in enumerate(self.graph.tensors):
            if tensor.updates is not None:
                continue
            if self.has_home_inside(tensor):
                homes += tensor.bytes
            else:
                price += self.price_of_tensor(i, tensor)
        capacity = min(INT_MAX, sum(min(self.problem.capacities[m], self.machine.capacities[m]) for m in self.inside))
        for op, each in zip(self.cuts, self.price):
            price -= each * (capacity - min(homes, INT_MAX) - self.taken_at(op))
        return min(max(price, 0) // PER_NS, INT_MAX)

    def has_home_inside(self, tensor):
        if 0 not in self.inside:
            return False
        if tensor.updated_by is not None and self.graph.tensors[tensor.updated_by].output:
            return True
        return tensor.output if tensor.producer is not None else tensor.kind == "input" and bool(tensor.readers)

    def taken_at(self, cut):
        op = self.graph.operators[cut]
        if not self.is_in(cut):
            return 0
        size = op.workspace
        for k, output in enumerate(op.outputs):
            own = self.graph.tensors[output]
            size += 0 if own.output and 0 in self.inside else own.bytes
            size -= max((min(own.bytes, self.graph.tensors[op.inputs[a]].bytes) for a, b in op.in_place if b == k), default=0)
        return size

    def reads(self, tensor, before=None):
        windows = sorted((self.last[r], -self.first[r]) for r in tensor.readers
                         if self.is_in(r) and (before is None or self.last[r] < before))
        taken, latest = [], -1
        for last, first in windows:
            if -first > latest:
                taken.append((-first, last, "read"))
                latest = last
        return taken

    def clean_by(self, tensor):
        ends = [self.last[r] for r in tensor.readers if not self.is_in(r)]
        if tensor.output and 0 not in self.inside:
            ends.append(len(self.cuts))
        return min(ends, default=None)

    def price_of_tensor(self, index, tensor):
        any_in = any(self.is_in(r) for r in tensor.readers)
        if tensor.producer is not None:
            return self.made(index, "any") if any_in or self.is_in(tensor.producer) else 0
        if tensor.updated_by is not None:
            return min(self.state(index, *kept) for kept in (("absent", "outside"), ("dirty", "inside"), ("clean", "both")))
        if not any_in:
            return 0
        # A home in the host's memory may take fewer bytes than the tensor has.
        held = tensor.touched if 0 in self.inside else tensor.bytes
        comes = self.live(tensor.bytes, "absent", 0, self.reads(tensor), "any", self.forced(index), held=held)
        if tensor.kind not in ("parameter", "state"):
            return comes
        return min(comes, self.live(tensor.bytes, "clean", 0, self.reads(tensor), "inside", self.forced(index), held=held))

    def forced(self, index, until=None):
        """Cuts whose operators read the tensor."""
        return {j for j, op in enumerate(self.cuts, 1)
                if self.is_in(op) and index in self.graph.operators[op].inputs and (until is None or j <= until)}

    def made(self, index, end):
        tensor = self.graph.tensors[index]
        maker, events = tensor.producer, self.reads(tensor)
        if not self.is_in(maker):
            inside = "inside" if end in ("inside", "both") else "any"
            return self.live(tensor.bytes, "absent", self.first[maker], events, inside, self.forced(index))
        events = [(self.first[maker], self.last[maker], "make")] + events
        outputs = [self.graph.tensors[t] for t in self.graph.operators[maker].outputs]
        again = self.repeats and all(t.kind == "activation" and not t.output and t.updates is None for t in outputs)
        return self.live(tensor.bytes, "unborn", self.first[maker], events, end, self.forced(index), self.clean_by(tensor),
                         (maker, len(outputs)) if again else None)

    def state(self, index, start, end):
        """Every place that has a state when the step starts has its new value when it ends."""
        tensor = self.graph.tensors[index]
        new = self.graph.tensors[tensor.updated_by]
        updater = new.producer
        if not self.is_in(updater) or updater not in tensor.readers:
            return min(NEVER, self.live(tensor.bytes, start, 0, self.reads(tensor), "any", self.forced(index))
                       + self.made(tensor.updated_by, end))
        events = (self.reads(tensor, self.first[updater]) + [(self.first[updater], self.last[updater], "update")]
                  + self.reads(new))
        forced = self.forced(index, self.first[updater]) | self.forced(tensor.updated_by)
        return self.live(tensor.bytes, start, 0, events, end, forced, self.clean_by(new))

    def live(self, size, start, segment, events, end, forced, clean_by=None, again=None, held=None):
        """The cheapest way through the segments: `least[k]` has the price of each state after k events. A copy moves `size`
        bytes, and the memories hold `held` of them, or all."""
        until = max([last for _, last, _ in events] + [clean_by or 0, 0 if end == "any" else len(self.cuts)])
        least = [{} for _ in range(len(events) + 1)]
        least[0][start] = 0
        low = 0
        for s in range(segment, until + 1):
            if s > segment:
                toll = self.price[s - 1] * (size if held is None else held)
                for states in least:
                    for state in list(states):
                        if state in ("clean", "dirty"):
                            states[state] += toll
                        elif s in forced:
                            del states[state]
            for k in range(low, len(least)):
                self.spread(least[k], size, s, again)
                if k == len(events) or s < events[k][0]:
                    break
                happen(events[k][2], least[k], least[k + 1])
                if s == events[k][1]:
                    least[k] = {}
                    low = k + 1
            if s == clean_by:
                for states in least:
                    for state in ("unborn", "dirty", "lost"):
                        states.pop(state, None)
        allowed = {"any": ("unborn", "absent", "clean", "dirty", "lost"), "inside": ("clean", "dirty"),
                   "outside": ("clean", "absent"), "both": ("clean",)}[end]
        price = min((price for state, price in least[-1].items() if state in allowed), default=NEVER)
        if price >= NEVER:
            self.fail("proof", "a tensor has no memory that it could be in")
        return price

    def spread(self, states, size, s, again):
        enter, leave, _, enters, leaves = self.segments[s]
        if again:
            maker, outputs = again
            offer(states, "lost", "dirty", self.ns(maker) * self.share(maker, s) * PER_SHARE // outputs)
            offer(states, "dirty", "lost", 0)
        offer(states, "dirty", "clean", leave * size + self.occupied(size, leaves))
        offer(states, "absent", "clean", enter * size + self.occupied(size, enters))
        offer(states, "clean", "absent", 0)

    def occupied(self, size, share):
        """The price of the time for which a copy occupies its stream."""
        if share == 0:
            return 0
        moving = min(1 << 100, size * PER_NS * 10 ** 9 // self.lane_rate)
        return (self.lane_latency * PER_NS + moving) // WHOLE * share


def offer(states, source, target, price):
    if source in states:
        states[target] = min(states.get(target, NEVER), states[source] + price)


def happen(what, before, after):
    moves = {"make": (("unborn", "dirty"),), "read": (("clean", "clean"), ("dirty", "dirty")),
             "update": (("clean", "dirty"), ("dirty", "dirty"))}[what]
    for source, target in moves:
        if source in before:
            after[target] = min(after.get(target, NEVER), before[source])
