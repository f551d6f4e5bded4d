#!/usr/bin/env python3
"""Compares scripts/verify_plan with `sluice-solve check` on random plans and on damaged ones.

  compare_verifiers.py SCRIPTS SLUICE_SOLVE [--valid 10000] [--mutated 10000] [--seed 0] [--keep DIR]

Problems are drawn at random: one to three accelerators, states, parameters, workspaces, operators that work in place or
communicate. `sluice-solve swap` plans each by several solvers and capacities; each plan is a valid one, and is damaged by
one of MUTATIONS, each in its turn. Exits 1 where the two programs disagree, where a plan of a solver is refused, or where a kind of
damage was tried often and never refused; --keep saves the plans that they disagree on.
"""

import argparse
import collections
import copy
import importlib.machinery
import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile

import damage_problem  # Adds its mutations to those of damage.
from damage import MUTATIONS

BATCH, OFTEN = 500, 100
SOLVERS = ["default", "odswap", "odswap-in-place", "swapadvisor-in-place", "greedy", "no-recompute",
           "activations-only", "dtr", "random", "ideal"]


def load_verify(scripts):
    loader = importlib.machinery.SourceFileLoader("verify_plan", os.path.join(scripts, "verify_plan"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("verify_plan", loader))
    loader.exec_module(module)
    return module


def random_machine(rng):
    count = rng.randint(1, 3)
    names = ["host"] + [f"accel{i}" for i in range(count)]
    links = [("host", name) for name in names[1:]] + ([("accel0", "accel1")] if count > 1 and rng.random() < 0.5 else [])
    devices = [{"name": name if i else "cpu", "kind": "emulated" if i else "cpu", "memory": name,
                "computes": bool(i) or rng.random() < 0.3} for i, name in enumerate(names)]
    if rng.random() < 0.2:
        devices.append({"name": "second", "kind": "emulated", "memory": "accel0"})
    machine = {"schema": 1, "name": "random", "memories": [{"name": name} for name in names], "devices": devices,
               "links": [{"between": ends, "bytesPerSec": (rate := rng.choice([1e9, 3.3e8, 1.7e9])),
                          "duplexBytesPerSec": rate * rng.choice([1, 1.3, 2]), "latency": f"{rng.randint(0, 300)}ns",
                          "eventLatency": f"{rng.choice([0, 0, 40])}ns"} for ends in links]}
    if rng.random() < 0.5:
        add_file(machine, names, rng)
    return machine


def add_file(machine, names, rng):
    """A file behind the host's memory, or behind the links of the accelerators, or both."""
    machine["memories"].append({"name": "ssd", "kind": "file"})
    for near in names[rng.choice([0, 0, 1]):1 if rng.random() < 0.3 else None] or names[:1]:
        rate, back = rng.choice([1e8, 4e8, 2e9]), rng.choice([2e8, 5e8])
        link = {"between": [near, "ssd"] if rng.random() < 0.5 else ["ssd", near], "bytesPerSec": rate,
                "duplexBytesPerSec": max(rate, back) + rng.choice([0, 0.5, 1]) * min(rate, back),
                "reverseBytesPerSec": back, "latency": f"{rng.randint(0, 300)}ns"}
        if near != "host" and rng.random() < 0.7:
            link["trunk"] = rng.choice([["host", near], [near, "host"]])
        machine["links"].append(link)


def random_graph(rng):
    tensors, operators, readable, states = [], [], [], []

    def add(name, kind, size):
        tensors.append({"name": name, "kind": kind, "bytes": size})
        return len(tensors) - 1

    def size():
        return rng.choice([0, 1, 64, 100, 200, 640, 1000, 4000])

    readable += [add(f"x{i}", "input", size()) for i in range(rng.randint(1, 2))]
    readable += [add(f"w{i}", "parameter", size()) for i in range(rng.randint(1, 4))]
    states = [add(f"s{i}", "state", size()) for i in range(rng.randint(0, 2))]
    readable += states
    for i in range(rng.randint(3, 14)):
        inputs = list(dict.fromkeys(rng.choice(readable[-6:] if rng.random() < 0.6 else readable)
                                    for _ in range(rng.randint(0, 3))))
        outputs = []
        for j in range(2 if rng.random() < 0.15 else 1):
            made = add(f"t{i}_{j}", "activation", size())
            if states and rng.random() < 0.2:
                old = states.pop()
                readable.remove(old)
                tensors[made].update(updates=old, bytes=tensors[old]["bytes"], kind="state")
            elif rng.random() < 0.15:
                tensors[made]["output"] = True
            outputs.append(made)
        operator = {"name": f"op{i}", "kind": "k", "inputs": inputs, "outputs": outputs, "flops": rng.randint(0, 100000)}
        if rng.random() < 0.2:
            operator["workspaceBytes"] = size()
        if inputs and rng.random() < 0.3:
            operator["inPlace"] = [[rng.randrange(len(inputs)), 0]]
        if rng.random() < 0.05:
            operator["communicates"] = True
        operators.append(operator)
        readable += outputs
    return {"schema": 1, "name": "random", "tensors": tensors, "operators": operators}


def random_problem(rng):
    machine, graph = random_machine(rng), random_graph(rng)
    problem = {"schema": 1, "graph": graph, "machine": machine,
               "costs": [[rng.randint(1, 3000) for _ in machine["devices"]] for _ in graph["operators"]]}
    computing = [device["name"] for device in machine["devices"] if device.get("computes", True)]
    # What communicates does so on one stream, so on one device.
    problem["placement"] = [computing[-1] if operator.get("communicates") else rng.choice(computing)
                            for operator in graph["operators"]]
    return problem


class Solver:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def plan(self, problem, solver, evaluations, seed):
        """The plan file of a problem, or None where it has none within the capacities."""
        path, made = os.path.join(self.folder, "problem.json"), os.path.join(self.folder, "made.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(problem, file)
        command = [self.program, "swap", path, "--solver", solver, "--evals", str(evaluations), "--seed", str(seed),
                   "--threads", "1", "-o", made, "--format=json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 1 and done.stderr.startswith("error: ") and "invalid plan" not in done.stderr:
            return None
        if done.returncode:
            sys.exit(f"error: '{' '.join(command)}' failed: {done.stderr}")
        result = json.loads(done.stdout)
        with open(made, encoding="utf-8") as file:
            plan = json.load(file)
        launches = sum("launch" in command for command in plan["commands"])
        memories = {name: {"capacityBytes": problem.get("capacities", {}).get(name, (1 << 63) - 1), **figures}
                    for name, figures in result["memories"].items()}
        proofs = {key: result[key] for key in ("certificate", "onceCertificate") if result[key]}
        return {"schema": 2, "problem": problem, "plan": plan,
                "summary": {**proofs, "onceBoundNs": result["onceBound"], "makespanNs": result["objective"], "idealNs": result["ideal"], "lowerBoundNs": result["bound"],
                            "bytesSwappedIn": result["bytesSwappedIn"], "bytesSwappedOut": result["bytesSwappedOut"],
                            "computedAgain": launches - len(problem["graph"]["operators"]),
                            "evaluations": result["evaluations"], "memories": memories, "baselines": [], "splits": []}}

    def plans(self, rng):
        """Plan files of one random problem: without a limit, then by several solvers within several capacities."""
        problem = random_problem(rng)
        free = self.plan(problem, "ideal", 1, 0)
        if free is None:
            return
        yield free
        for solver in rng.sample(SOLVERS, 4):
            limited = copy.deepcopy(problem)
            share = rng.choice([0, 0.1, 0.3, 0.6, 1])
            limited["capacities"] = {
                name: memory["minimumBytes"] + int(share * (memory["peakBytes"] - memory["minimumBytes"]))
                for name, memory in free["summary"]["memories"].items() if name not in ("host", "ssd")}
            if "ssd" in free["summary"]["memories"]:
                everything = sum(tensor["bytes"] for tensor in problem["graph"]["tensors"])
                limited["capacities"]["host"] = int(rng.choice([0.2, 0.5, 1]) * everything)
            plan = self.plan(limited, solver, rng.randint(1, 6), rng.randint(0, 9))
            if plan is not None:
                yield plan

    def check(self, texts):
        """For each plan file's text whether `sluice-solve check` takes it, and what it says."""
        paths = [os.path.join(self.folder, f"plan{i}.json") for i in range(len(texts))]
        for path, text in zip(paths, texts):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        done = subprocess.run([self.program, "check", "--format=json", *paths], capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            sys.exit(f"error: '{self.program} check' ended with {done.returncode}: {done.stderr}")
        return [(entry["valid"], entry.get("error", "")) for entry in json.loads(done.stdout)]


class Comparison:
    def __init__(self, verify_plan, solver, keep):
        self.verify_plan, self.solver, self.keep = verify_plan, solver, keep
        self.batch, self.disagree = [], 0
        self.counts, self.rules = collections.Counter(), collections.Counter()

    def verify(self, text):
        try:
            broken, _ = self.verify_plan.verify(self.verify_plan.parse(text.encode(), "plan"), "plan")
        except self.verify_plan.Broken as one:
            broken = {one.args[0]: (one.args[1], 1)}
        return broken

    def add(self, text, what):
        self.batch.append((text, what))
        if len(self.batch) == BATCH:
            self.flush()

    def flush(self):
        checked = self.solver.check([text for text, _ in self.batch]) if self.batch else []
        for (text, what), (valid, message) in zip(self.batch, checked):
            broken = self.verify(text)
            self.counts[what, valid] += 1
            if not valid:
                self.rules.update(broken.keys())
            if valid == bool(broken) or what == "solver" and not valid:
                self.disagree += 1
                print(f"{what}: check says '{message or 'valid'}', verify_plan {broken or 'valid'}")
                if self.keep:
                    with open(os.path.join(self.keep, f"{self.disagree}.json"), "w", encoding="utf-8") as file:
                        file.write(text)
        self.batch = []

    def report(self):
        valid, invalid = (sum(count for (what, good), count in self.counts.items() if what != "solver" and good == kind)
                          for kind in (True, False))
        print(f"{self.counts['solver', True]} plans of solvers; {valid + invalid} damaged: both refuse {invalid} and accept "
              f"{valid}; {self.disagree} disagreements")
        print("rules broken:", ", ".join(f"{rule} {count}" for rule, count in sorted(self.rules.items())))
        harmless = [name for name in MUTATIONS if self.counts[name, True] > OFTEN and not self.counts[name, False]]
        if harmless:
            print(f"error: no damage of a kind was refused: {', '.join(harmless)}")
        return 1 if self.disagree or harmless else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scripts")
    parser.add_argument("solve")
    parser.add_argument("--valid", type=int, default=10000)
    parser.add_argument("--mutated", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        solver = Solver(options.solve, folder)
        comparison = Comparison(load_verify(options.scripts), solver, options.keep)
        names, made, damaged = list(MUTATIONS), 0, 0
        while made < options.valid or damaged < options.mutated:
            for plan in solver.plans(rng):
                if made < options.valid:
                    comparison.add(json.dumps(plan), "solver")
                    made += 1
                for _ in range(max(1, -(-options.mutated // max(options.valid, 1)))):
                    if damaged < options.mutated:
                        # Every kind has its turn; a kind that fits no part of this plan leaves it to the next.
                        name = names[damaged % len(names)]
                        text = MUTATIONS[name](copy.deepcopy(plan), rng)
                        if text is None:
                            names.append(names.pop(damaged % len(names)))
                            continue
                        comparison.add(text if isinstance(text, str) else json.dumps(text), name)
                        damaged += 1
        comparison.flush()
        return comparison.report()


if __name__ == "__main__":
    sys.exit(main())
