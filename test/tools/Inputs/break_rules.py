#!/usr/bin/env python3
"""Breaks every rule of scripts/verify_plan alone.

  break_rules.py SCRIPTS FORMATS SLUICE_SOLVE FOLDER

The example of FORMATS/plan.md is valid. Each entry of BREAKS damages it such that verify_plan names its rule and no other,
and `sluice-solve check` refuses it too; HARMLESS ones stay valid for both. The rules of FORMATS/verify-plan.md are those
that are broken here; FOLDER takes the plans.
"""

import copy
import json
import os
import re
import subprocess
import sys

from check_formats import example_of
from compare_verifiers import load_verify

# Residencies and commands of the example, by what they are.
X_HOME, W_HOME, W_KEPT, S_KEPT, X_IN, T_IN, T_HOST, U_IN, WORKSPACE, NEXT_IN, W_AGAIN, T_AGAIN, Y_IN, Y_HOME = range(14)
COPY_X, RUN_A, OUT_T, RUN_B, RUN_C, IN_W, IN_T, RUN_D, OUT_Y = range(9)


class Example:
    def __init__(self, document):
        self.document = copy.deepcopy(document)
        self.problem, self.plan, self.summary = (self.document[key] for key in ("problem", "plan", "summary"))
        self.residencies, self.commands = self.plan["residencies"], self.plan["commands"]
        self.tensors, self.operators = self.problem["graph"]["tensors"], self.problem["graph"]["operators"]

    def residency(self, **members):
        self.residencies.append({"bytes": 64, **members})
        return len(self.residencies) - 1

    def copy(self, stream, source, target, *waits):
        self.commands.append({"copy": ["host", "accel0"], "stream": stream, "reads": [source], "writes": [target],
                              "waits": list(waits)})
        return len(self.commands) - 1

    def arena(self, size):
        """Gives the accelerator's arena so many bytes."""
        self.problem["capacities"]["accel0"] = self.problem["machine"]["memories"][1]["capacity"] = size
        self.plan["arenas"][1][1] = size
        self.summary["memories"]["accel0"].update(capacityBytes=size, arenaBytes=size)

    def forget_figures(self):
        for key in ("makespanNs", "bytesSwappedIn", "bytesSwappedOut"):
            del self.summary[key]

    def state_homes(self):
        return (self.residency(tensor="s", memory="host", home=True, initial=True),
                self.residency(tensor="s'", memory="host", home=True))


def communicate_on_two_streams(e):
    e.plan["streams"].append(["accel0", "communicate"])
    e.operators[0]["communicates"] = e.operators[1]["communicates"] = True
    e.commands[RUN_A]["stream"] = 3


def fetch_a_state_while_its_new_value_leaves(e):
    e.arena(320)
    old, new = e.state_homes()
    e.copy(1, old, e.residency(tensor="s", memory="accel0", offset=256))
    e.copy(2, NEXT_IN, new, RUN_C)


def overlap_outputs(e):
    """The workspace beside the result of the same launch."""
    e.arena(320)
    e.residencies[WORKSPACE].update(offset=256)
    e.residencies[W_AGAIN].update(offset=0)
    e.residencies[NEXT_IN].update(bytes=256)


def fill_again_from_below(e):
    e.arena(384)
    e.residencies[W_KEPT]["offset"] = 320
    e.residencies[W_AGAIN].update(offset=256, bytes=128)
    e.residencies[Y_IN]["offset"] = 256


def leave_a_state_in_its_home(e):
    e.state_homes()


def repeat_what_the_step_returns(e):
    made = [e.residency(tensor="s'", memory="accel0", offset=320), e.residency(memory="accel0", offset=384)]
    e.arena(448)
    e.commands.append({"launch": "c", "stream": 0, "reads": [U_IN, S_KEPT], "writes": made})


def place_apart(e):
    """On another device of the same memory, as fast; then the operator belongs to one that stays."""
    second_device(e)
    e.plan["placement"][3][1] = "second"
    e.plan["streams"].append(["second", "compute"])
    e.commands[RUN_D].update(stream=3, waits=[IN_T, RUN_C])
    e.problem["placement"] = [None] * 4


def place_apart_what_belongs_together(e):
    place_apart(e)
    e.operators[2]["colocation"] = e.operators[3]["colocation"] = 0


def second_device(e):
    e.problem["machine"]["devices"].append({"name": "second", "kind": "emulated", "memory": "accel0"})
    for row in e.problem["costs"]:
        row.append(row[1])


def pin_to_another_device(e):
    second_device(e)
    e.problem["placement"][0] = "second"


def copy_on_the_hosts_stream(e):
    e.plan["streams"].append(["cpu", "swap-out"])
    e.commands[OUT_Y]["stream"] = 3


def proof(e):
    return e.summary["onceCertificate"]


def dear_both_ways(e):
    """Neither way alone is worth more than the segment's time, but both at once are."""
    proof(e)["segments"][2].update({"in": 99_000_000, "out": 2_000_000})


def set_at(container, key, value):
    def apply(e):
        where = container(e)
        where[key] = value
    return apply


def residency(index, **members):
    return lambda e: e.residencies[index].update(members)


def command(index, **members):
    return lambda e: e.commands[index].update(members)


def let_the_processor_compute(e):
    """The processor has no copies and takes 1 ns for each operator, which the bound of all placements then allows."""
    e.problem["machine"]["devices"][0]["computes"] = True
    e.problem["costs"] = [[1, *row[1:]] for row in e.problem["costs"]]
    e.problem["placement"] = [None] * 4
    e.summary["certificate"] = {"argument": "placements"}


BREAKS = {
    "format": [lambda e: e.plan.pop("streams"), set_at(lambda e: e.plan, "unheard", 1), residency(T_IN, bytes=True),
               set_at(lambda e: e.document, "schema", 3), command(RUN_A, copy=["host", "accel0"]),
               set_at(lambda e: e.summary, "idealNs", -1), set_at(lambda e: e.plan["streams"][0], 1, "sideways"),
               set_at(lambda e: e.summary, "certificate", {"argument": "placements", "device": "accel0"})],
    "problem": [set_at(lambda e: e.tensors[0], "kind", "activation"), lambda e: e.problem["machine"]["links"].clear(),
                set_at(lambda e: e.operators[1], "name", "a"), set_at(lambda e: e.operators[0], "inputs", [0, 1, 6])],
    "name": [residency(T_IN, tensor="nothing"), residency(T_IN, tensor="#7"), command(OUT_T, copy=["host", "host"]),
             set_at(lambda e: e.plan["placement"][0], 1, "gpu0")],
    "index": [command(RUN_A, stream=3), command(RUN_A, reads=[X_IN, 99])],
    "placement": [lambda e: e.plan["placement"].pop(), lambda e: e.plan["placement"].append(["a", "accel0"]),
                  set_at(lambda e: e.plan["placement"][0], 1, "cpu"), pin_to_another_device,
                  place_apart_what_belongs_together],
    "streams": [lambda e: e.plan["streams"].append(["accel0", "swap-in"])],
    "capacity": [set_at(lambda e: e.problem["capacities"], "accel0", 192),
                 set_at(lambda e: e.problem["machine"]["memories"][1], "capacity", 192),
                 lambda e: e.problem["capacities"].update(accel0=1 << 40) or e.plan["arenas"][1].__setitem__(1, 512)],
    "size": [residency(T_IN, bytes=63), residency(WORKSPACE, bytes=-1)],
    "home": [lambda e: e.residency(tensor="x", memory="host", home=True, initial=True), residency(X_HOME, memory="accel0"),
             residency(X_HOME, offset=64), residency(T_HOST, home=True)],
    "alignment": [residency(T_IN, offset=100), residency(T_IN, offset=-64)],
    "arena": [residency(T_IN, offset=256), residency(T_IN, offset=(1 << 63) - 64)],
    "initial": [residency(X_HOME, initial=False), residency(Y_HOME, initial=True), residency(X_IN, initial=True),
                residency(NEXT_IN, initial=True)],
    "issue-order": [command(RUN_A, waits=[RUN_A]), command(RUN_A, waits=[OUT_Y])],
    "launched": [lambda e: (e.commands.pop(), e.commands.pop()), repeat_what_the_step_returns],
    "launch-stream": [command(RUN_A, stream=1)],
    "communication": [communicate_on_two_streams],
    "operands": [command(RUN_A, reads=[W_KEPT, X_IN]), command(RUN_A, reads=[X_IN]), command(RUN_B, writes=[])],
    "workspace": [command(RUN_C, writes=[NEXT_IN]), residency(WORKSPACE, bytes=32),
                  set_at(lambda e: e.operators[2], "workspaceBytes", 0)],
    "memory": [command(RUN_A, reads=[X_HOME, W_KEPT])],
    "copy": [command(OUT_T, reads=[X_IN]), command(OUT_T, reads=[T_IN, T_IN]), command(OUT_T, writes=[])],
    "link": [residency(T_HOST, memory="accel0")],
    "copy-stream": [copy_on_the_hosts_stream, command(OUT_T, stream=0), command(OUT_T, stream=1)],
    "written-once": [command(IN_W, writes=[W_KEPT]), lambda e: e.copy(1, T_HOST, T_AGAIN)],
    "data-flow": [command(RUN_A, waits=[]), lambda e: e.commands[RUN_D]["reads"].__setitem__(
        0, e.residency(tensor="t", memory="accel0", offset=128))],
    "overlap": [command(RUN_B, waits=[]), lambda e: e.operators[1].pop("inPlace"), command(IN_W, waits=[]),
                overlap_outputs],
    "state-order": [fetch_a_state_while_its_new_value_leaves],
    "kept": [fill_again_from_below, lambda e: (e.arena(320), e.residencies[NEXT_IN].update(offset=256))],
    "output": [lambda e: e.commands.pop()],
    "state-home": [leave_a_state_in_its_home],
    "makespan": [set_at(lambda e: e.summary, "makespanNs", 1821), set_at(lambda e: e.problem["costs"][0], 1, 301)],
    "bytes": [set_at(lambda e: e.summary, "bytesSwappedIn", 191), set_at(lambda e: e.summary, "bytesSwappedOut", 0)],
    "repeats": [set_at(lambda e: e.summary, "computedAgain", 1)],
    "memories": [set_at(lambda e: e.summary["memories"]["accel0"], "arenaBytes", 255),
                 set_at(lambda e: e.summary["memories"]["accel0"], "capacityBytes", 255)],
    "bound": [lambda e: e.summary.pop("certificate") and e.summary.update(lowerBoundNs=1821),
              lambda e: e.summary.pop("onceCertificate") and e.summary.update(onceBoundNs=1821)],
    "certificate": [lambda e: proof(e)["segments"].pop(), set_at(proof, "memories", []),
                    set_at(proof, "memories", ["host"]), set_at(proof, "memories", ["accel0", "accel0"])],
    "cut-order": [lambda e: proof(e)["cuts"].reverse(), set_at(lambda e: proof(e)["cuts"][1], 0, "b"),
                  set_at(lambda e: e.summary, "certificate", {"argument": "chain", "operators": ["a", "c"]}),
                  set_at(lambda e: e.summary, "certificate", {"argument": "chain", "operators": []})],
    "prices": [set_at(lambda e: proof(e)["segments"][0], "copiesIn", 1),
               set_at(lambda e: proof(e)["segments"][0], "in", 1), set_at(lambda e: proof(e)["segments"][0], "out", 1),
               set_at(lambda e: proof(e)["segments"][0]["work"][0], 2, 1_000_001), dear_both_ways,
               set_at(lambda e: proof(e)["cuts"][0], 1, -1), set_at(lambda e: proof(e)["cuts"][0], 1, (1 << 54) + 1),
               lambda e: proof(e)["segments"][0]["work"].append(["accel0", "compute", 0])],
    "proof": [set_at(lambda e: e.summary, "lowerBoundNs", 1329), set_at(lambda e: e.summary, "onceBoundNs", 1001),
              set_at(lambda e: e.summary["certificate"], "stream", "communicate"),
              set_at(lambda e: proof(e)["cuts"][0], 1, 10 ** 10),
              set_at(lambda e: e.summary, "certificate", {"argument": "chain", "operators": ["a", "b"]}),
              lambda e: e.summary.update(certificate={"argument": "placements"}, lowerBoundNs=1329), let_the_processor_compute],
}


def order_a_state(e):
    fetch_a_state_while_its_new_value_leaves(e)
    e.commands[-1]["waits"].append(len(e.commands) - 2)
    e.forget_figures()


HARMLESS = [order_a_state, place_apart, Example.forget_figures, lambda e: e.residency(tensor="t", memory="accel0", offset=0),
            set_at(lambda e: e.document, "schema", 1), lambda e: e.document["summary"].pop("splits"),
            lambda e: e.commands[RUN_D]["waits"].append(RUN_C),
            lambda e: (e.summary.pop("certificate"), e.summary.pop("onceCertificate")),
            set_at(lambda e: e.summary, "certificate", {"argument": "chain", "operators": list("abcd")}),
            set_at(lambda e: e.summary, "certificate", {"argument": "placements"}),
            set_at(lambda e: proof(e)["segments"][2], "in", 0)]


def main(scripts, formats, solve, folder):
    verify_plan = load_verify(scripts)
    with open(os.path.join(formats, "verify-plan.md"), encoding="utf-8") as page:
        documented = set(re.findall(r"^\|[^|]*\| `([a-z-]+)` \|", page.read(), re.MULTILINE))
    # What no plan's content breaks has tests of its own.
    if documented - set(BREAKS) != {"file", "limits"} or set(BREAKS) - documented:
        sys.exit(f"rules of the page and of this script differ: {documented ^ set(BREAKS)}")
    document = json.loads(example_of(os.path.join(formats, "plan.md")))
    failures, cases = 0, []
    for rule, breaks in [*BREAKS.items(), (None, HARMLESS)]:
        for i, apply in enumerate(breaks):
            example = Example(document)
            apply(example)
            path = os.path.join(folder, f"{rule or 'harmless'}-{i}.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(example.document, file)
            broken, _ = verify_plan.verify(example.document, path)
            cases.append((path, rule))
            if set(broken) != ({rule} if rule else set()):
                failures += 1
                print(f"{path}: verify_plan names {broken or 'nothing'}")
    done = subprocess.run([solve, "check", "--format=json", *(path for path, _ in cases)], capture_output=True, text=True,
                          check=False)
    for (path, rule), entry in zip(cases, json.loads(done.stdout)):
        if entry["valid"] == bool(rule):
            failures += 1
            print(f"{path}: check says {entry}")
    print(f"{len(BREAKS)} rules broken in {len(cases) - len(HARMLESS)} ways, {len(HARMLESS)} harmless changes, "
          f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
