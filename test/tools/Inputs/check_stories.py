#!/usr/bin/env python3
"""Checks what `sluice plan --explain` and `--diff` say of plans against the plan files themselves.

  check_stories.py SCRIPTS SLUICE PLAN [OTHER-PLAN...]

Every operator and tensor of the first plan is explained, and it is compared with each of the others. The facts are computed
again from the plan files with the simulator of scripts/verifier, and the figures in the sentences must be those of the facts.
Prints how many were checked. Exits 1 at a fact that is wrong.
"""

import collections
import json
import re
import subprocess
import sys


class Story:
    """A plan file as scripts/verifier reads it, with its times and what follows from them."""

    def __init__(self, path):
        from verifier.plan import read_plan
        from verifier.problem import read_problem
        from verifier.times import simulate
        with open(path, encoding="utf-8") as file:
            value = json.load(file)
        self.problem = read_problem(value["problem"], "problem")
        self.plan = read_plan(self.problem, value["plan"], "plan")
        self.graph, self.machine = self.problem.graph, self.problem.machine
        self.starts, self.ends = simulate(self.problem, self.plan)
        self.step = max(self.ends)
        self.operators = names_of(self.graph.operators)
        self.tensors = names_of(self.graph.tensors)
        self.fill()

    def fill(self):
        commands = self.plan.commands
        self.before, last = [None] * len(commands), {}
        for i, c in enumerate(commands):
            self.before[i] = last.get(c.stream)
            last[c.stream] = i
        self.launches, self.copies = collections.defaultdict(list), collections.defaultdict(list)
        self.readers, self.maker = collections.defaultdict(list), {}
        for i, c in enumerate(commands):
            if c.op is not None:
                self.launches[c.op].append(i)
            else:
                self.copies[self.plan.residencies[c.reads[0]].tensor].append(i)
            for r in c.reads:
                self.readers[r].append(i)
            for r in c.writes:
                self.maker[r] = i
        for copies in self.copies.values():
            copies.sort(key=lambda i: self.starts[i])
        # The latest end of each command that leaves the step as long as it is, all others taking their time.
        self.latest = [self.step] * len(commands)
        for i in reversed(range(len(commands))):
            start = self.latest[i] - (self.ends[i] - self.starts[i])
            for earlier in {self.before[i], *commands[i].waits} - {None}:
                self.latest[earlier] = min(self.latest[earlier], start - self.wake_up(earlier, i))

        self.spans = []
        for i in range(len(self.plan.residencies)):
            users = [*self.readers[i], *([self.maker[i]] if i in self.maker else [])]
            self.spans.append([self.starts[self.maker[i]] if i in self.maker else 0, max((self.ends[c] for c in users), default=0)])
        # What the next step finds in its place is there until the end: of those that hold it, the one that came last.
        for r in self.plan.residencies:
            if r.initial and not r.home:
                new = self.graph.tensors[r.tensor].updated_by
                same = [i for i, other in enumerate(self.plan.residencies) if not other.home and
                        (other.memory, other.offset, other.tensor) == (r.memory, r.offset, r.tensor if new is None else new)]
                self.spans[max(same, key=lambda i: self.spans[i][0])][1] = self.step

    def in_use(self, memory, ns):
        """Bytes of an arena at which something is at a time; what is over one another counts once."""
        ranges = sorted((r.offset, r.end) for r, (start, end) in zip(self.plan.residencies, self.spans)
                        if self.machine.memories[r.memory] == memory and not r.home and start <= ns < end)
        total = high = 0
        for low, end in ranges:
            total += max(end - max(low, high), 0)
            high = max(high, end)
        return total

    def wake_up(self, earlier, later):
        a, b = self.plan.commands[earlier], self.plan.commands[later]
        if a.stream == b.stream:
            return 0
        return max((self.machine.links[c.link].event for c in (a, b) if c.link is not None), default=0)

    def memory(self, residency):
        return self.machine.memories[self.plan.residencies[residency].memory]

    def direction(self, copy):
        c = self.plan.commands[copy]
        level = [0 if self.machine.files[m] else 1 + (m > 0) for m in (self.plan.residencies[r].memory for r in c.reads + c.writes)]
        return "in" if level[0] < level[1] else "out" if level[0] > level[1] else "between"


def names_of(things):
    count = collections.Counter(thing.name for thing in things)
    return [thing.name if thing.name and count[thing.name] == 1 and not thing.name.startswith("#") else f"#{i}"
            for i, thing in enumerate(things)]


class Checker:
    def __init__(self):
        self.facts = self.sentences = 0

    def same(self, what, said, derived):
        self.facts += 1
        if said != derived:
            sys.exit(f"error: {what} is {said!r}, and by the plan {derived!r}")

    def command(self, story, fact):
        """A command that a fact names."""
        command = fact["command"]
        c = story.plan.commands[command]
        device = story.machine.devices[story.plan.streams[c.stream][0]].name
        derived = {"device": device, "startNs": story.starts[command], "endNs": story.ends[command]}
        if c.op is not None:
            derived["launch"] = story.operators[c.op]
        else:
            tensor = story.plan.residencies[c.reads[0]].tensor
            copies = story.copies[tensor]
            derived.update({"copy": story.tensors[tensor], "from": story.memory(c.reads[0]), "to": story.memory(c.writes[0]),
                            "copyNumber": copies.index(command) + 1, "ofCopies": len(copies)})
        self.same(f"command {command}", {key: fact.get(key) for key in derived}, derived)

    def timing(self, story, what, fact, command):
        self.same(f"the command of {what}", fact["command"], command)
        for named in (fact, *fact["after"], *(fact[key] for key in ("dataMaker", "stallFor", "reader", "readerAfter", "slackBy") if key in fact),
                      *(d["sake"] for d in fact["after"] if "sake" in d), *fact.get("readerMissing", []), *fact.get("sharing", [])):
            self.command(story, named)
        previous = story.before[command]
        self.same(f"the stall before {what}", fact["stallNs"],
                  story.starts[command] - (0 if previous is None else story.ends[previous]))
        self.same(f"the slack of {what}", fact["slackNs"], story.latest[command] - story.ends[command])
        by = fact.get("slackBy")
        later = [c for c in range(len(story.plan.commands)) if command in {story.before[c], *story.plan.commands[c].waits}]
        bounds = {c: story.latest[c] - (story.ends[c] - story.starts[c]) - story.wake_up(command, c) for c in later}
        self.same(f"what sets the slack of {what}", story.step if by is None else bounds[by["command"]], story.latest[command])
        self.same(f"what {what} comes after", {d["command"] for d in fact["after"]},
                  {previous, *story.plan.commands[command].waits} - {None})

    def operator(self, story, fact):
        op = story.operators.index(fact["operator"])
        device = story.plan.device_of[op]
        self.same(f"the device of {op}", fact["chosen"]["device"], story.machine.devices[device].name)
        choices = [fact["chosen"], *fact["others"]]
        times = {d.name: story.problem.costs[op][i] for i, d in enumerate(story.machine.devices) if d.computes}
        self.same(f"the times of {op}", {c["device"]: c["timeNs"] for c in choices}, times)
        self.same(f"the launches of {op}", [launch["command"] for launch in fact["launches"]], story.launches[op])
        for launch in fact["launches"]:
            command = launch["command"]
            stream = [c for runs in story.launches.values() for c in runs
                      if story.plan.commands[c].stream == story.plan.commands[command].stream]
            self.same(f"the position of {op}", (launch["position"], launch["ofPositions"]),
                      (sum(c <= command for c in stream), len(stream)))
            self.timing(story, f"operator {fact['operator']}", launch, command)
            self.same(f"the bytes in use at the start of {op}", launch["inUseBytes"], story.in_use(fact["memory"], story.starts[command]))
        self.words(fact)

    def tensor(self, story, fact):
        tensor = story.tensors.index(fact["tensor"])
        copies = story.copies[tensor]
        self.same(f"the bytes of {fact['tensor']}", fact["bytes"], story.graph.tensors[tensor].bytes)
        self.same(f"the copies of {fact['tensor']}", [copy["command"] for copy in fact["copies"]], copies)
        self.same(f"the readers of {fact['tensor']}", fact["consumers"],
                  [story.operators[op] for op in story.graph.tensors[tensor].readers])
        for number, (copy, command) in enumerate(zip(fact["copies"], copies), 1):
            c = story.plan.commands[command]
            self.same(f"the bytes of copy {number} of {fact['tensor']}", copy["bytes"], story.graph.tensors[tensor].bytes)
            self.timing(story, f"copy {number} of {fact['tensor']}", copy, command)
            launches = [r for r in story.readers[c.writes[0]] if story.plan.commands[r].op is not None]
            first = min(launches, key=lambda r: story.starts[r], default=None)
            self.same(f"the reader of copy {number} of {fact['tensor']}", copy.get("reader", {}).get("command"), first)
            self.why(story, fact, copy, tensor)
            self.guests(story, fact, copy)
        for stay in fact["stays"]:
            if not stay.get("home"):
                self.stay(story, tensor, stay)
        self.words(fact)

    def stay(self, story, tensor, stay):
        keys = ("memory", "offset", "bytes", "initial", "startNs", "endNs")
        stays = [(story.memory(i), r.offset, r.bytes, r.initial, *story.spans[i]) for i, r in enumerate(story.plan.residencies)
                 if r.tensor == tensor and not r.home]
        self.same(f"a stay of {tensor}", tuple(stay[key] for key in keys) in stays, True)

    def why(self, story, fact, copy, tensor):
        """Whether the tensor is away, stays beside the copy, or has a copy that nothing reads."""
        what, c = f"copy {copy['copyNumber']} of {fact['tensor']}", story.plan.commands[copy["command"]]
        source, target = story.plan.residencies[c.reads[0]], story.plan.residencies[c.writes[0]]
        if copy["why"] == "unread":
            self.same(f"the readers of {what}", (story.readers[c.writes[0]], target.home), ([], False))
        there = lambda memory, ns: [i for i, r in enumerate(story.plan.residencies) if r.tensor == tensor and not r.home and
                                    story.memory(i) == memory and story.spans[i][0] <= ns < story.spans[i][1]]
        if copy["why"] in ("second", "moved") and target.memory != 0:
            self.same(f"whether {what} is beside another", len(there(copy["to"], copy["startNs"])) > 1 or
                      any(story.spans[i][1] == copy["startNs"] for i, r in enumerate(story.plan.residencies)
                          if r.tensor == tensor and story.memory(i) == copy["to"]), True)
        for start, end in copy.get("absence", {}).get("away", []):
            # When it is away no stay has its data: the copy back is the last to begin and ends with the absence.
            memory = copy["absence"]["memory"]
            stays = {i for i in range(len(story.plan.residencies)) if story.plan.residencies[i].tensor == tensor and
                     story.memory(i) == memory and not story.plan.residencies[i].home and
                     max(story.spans[i][0] if i not in story.maker else story.ends[story.maker[i]], start) < min(story.spans[i][1], end)}
            self.same(f"where {fact['tensor']} is while it is away from {memory}", stays, set())
        if copy.get("absence", {}).get("dropped"):
            self.same(f"whether a copy out precedes {what}", copy["from"] != copy["absence"]["memory"] and source.tensor == tensor, True)
        took = copy["endNs"] - copy["startNs"]
        self.same(f"who shares the link with {what}", all(took > copy["aloneNs"] for _ in copy["sharing"]) and
                  all(s["startNs"] < copy["endNs"] and copy["startNs"] < s["endNs"] for s in copy["sharing"]), True)

    def guests(self, story, fact, copy):
        """Those that use a tensor's bytes in an absence are in that memory at that time."""
        for guest in copy.get("absence", {}).get("guests", []):
            if "tensor" not in guest:
                continue
            tensor = story.tensors.index(guest["tensor"])
            starts = [story.starts[story.maker[i]] if i in story.maker else 0 for i, r in enumerate(story.plan.residencies)
                      if r.tensor == tensor and story.memory(i) == copy["absence"]["memory"]]
            self.same(f"the start of guest {guest['tensor']} of {fact['tensor']}", guest["fromNs"] in starts, True)

    def words(self, fact):
        """The times and bytes in sentences are those of facts; no interval is empty."""
        for sentence in fact["sentences"]:
            self.sentences += 1
            for first, last in re.findall(r"from ([0-9.]+ [num]?s) to ([0-9.]+ [num]?s)", sentence["text"]):
                self.same(f"an empty interval in {sentence['text']!r}", first == last, False)

    def diff(self, a, b, diff):
        figures = {f["name"]: (f["a"], f["b"]) for f in diff["figures"]}
        self.same("the makespans", figures["makespan"], (a.step, b.step))
        plans = (a, b)
        shared = [(a.operators.index(name), b.operators.index(name)) for name in a.operators if name in b.operators]
        self.same("the shared operators", diff["sharedOperators"], len(shared))
        device = lambda plan, op: plan.machine.devices[plan.plan.device_of[op]].name
        self.same("what is placed elsewhere", {p["operator"] for p in diff["placed"]},
                  {a.operators[x] for x, y in shared if device(a, x) != device(b, y)})
        self.same("what runs again", {(r["operator"], r["launches"]["a"], r["launches"]["b"]) for r in diff["again"]},
                  {(a.operators[x], len(a.launches[x]), len(b.launches[y])) for x, y in shared
                   if len(a.launches[x]) != len(b.launches[y])})
        copied = {}
        for name in set(a.tensors) & set(b.tensors):
            counts = [collections.Counter(map(plan.direction, plan.copies[plan.tensors.index(name)])) for plan in plans]
            if counts[0] != counts[1]:
                copied[name] = tuple((c["in"], c["out"], c["between"]) for c in counts)
        self.same("the copies", {c["tensor"]: tuple((c["in"][k], c["out"][k], c["between"][k]) for k in "ab") for c in diff["copied"]}, copied)
        for d in diff["devices"]:
            for k, plan in zip("ab", plans):
                streams = [s for s, (dev, kind) in enumerate(plan.plan.streams)
                           if kind == "compute" and plan.machine.devices[dev].name == d["device"]]
                commands = [i for i, c in enumerate(plan.plan.commands) if c.stream in streams]
                busy = sum(plan.ends[i] - plan.starts[i] for i in commands)
                self.same(f"what {d['device']} computes", d["computeNs"][k], busy)
                if commands:
                    rest = plan.step - max(plan.ends[i] for i in commands)
                    self.same(f"what {d['device']} does", d["copyWaitNs"][k] + d["otherWaitNs"][k] + busy + rest, plan.step)
        for entry in diff["kept"]:
            has = [any(r.initial and not r.home and story.readers[i] and story.tensors[r.tensor] == entry["tensor"] and
                       story.memory(i) == entry["memory"] for i, r in enumerate(story.plan.residencies) if r.tensor is not None)
                   for story in plans]
            self.same(f"who keeps {entry['tensor']}", has, [entry["plan"] == "a", entry["plan"] == "b"])
        self.order(a, b, diff, shared, device)
        self.words(diff)

    def order(self, a, b, diff, shared, device):
        """Without the operators that moved, both plans have one order on each device."""
        moved = {entry["operator"] for entry in diff["reordered"]}
        first = lambda plan, op: plan.launches[op][0]
        for name in {device(a, x) for x, y in shared}:
            left = [(x, y) for x, y in shared if device(a, x) == device(b, y) == name and a.operators[x] not in moved]
            self.same(f"the order on {name}", sorted(left, key=lambda p: first(a, p[0])), sorted(left, key=lambda p: first(b, p[1])))


def main():
    scripts, sluice, path, *others = sys.argv[1:]
    sys.path.insert(0, scripts)
    checker, story = Checker(), Story(path)
    names = [option for name in dict.fromkeys(story.operators + story.tensors) for option in ("--explain", name)]
    run = lambda *options: json.loads(subprocess.run([sluice, "plan", *options, "--format=json"], check=True, capture_output=True,
                                                     text=True).stdout)
    for entry in run(path, *names)["explained"]:
        for fact in entry["operators"]:
            checker.operator(story, fact)
        for fact in entry["tensors"]:
            checker.tensor(story, fact)
    for other in others:
        checker.diff(story, Story(other), run("--diff", path, other))
    print(f"{checker.facts} facts and {checker.sentences} sentences agree with the plans")


if __name__ == "__main__":
    main()
