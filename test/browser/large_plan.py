#!/usr/bin/env python3
"""Writes a plan file of many operators that swap, for tests of what shows plans.

  large_plan.py SLUICE-SOLVE OPERATORS PLAN

Each operator reads results of the last few and every second one a parameter, on an accelerator that cannot hold them all.
"""

import json
import random
import subprocess
import sys
import tempfile

NEAR = 24


def make_problem(count):
    rng = random.Random(1)
    tensors = [{"name": "input", "kind": "input", "bytes": 65536}]
    operators, made = [], [0]
    for i in range(count):
        inputs = {rng.choice(made[-NEAR:]) for _ in range(2)}
        if i % 2:
            inputs.add(len(tensors))
            tensors.append({"name": f"layer{i // 100}/w{i}", "kind": "parameter", "bytes": 1024 * rng.randint(16, 512)})
        output = {"name": f"layer{i // 100}/t{i}", "kind": "activation", "bytes": 1024 * rng.randint(16, 256)}
        if i + 1 == count:
            output["output"] = True
        operators.append({"name": f"layer{i // 100}/op{i}", "kind": rng.choice(["matmul", "elementwise", "reduce"]),
                          "inputs": sorted(inputs), "outputs": [len(tensors)], "flops": 1000 * rng.randint(1, 4000)})
        made.append(len(tensors))
        tensors.append(output)
    machine = {"schema": 1, "name": "one accelerator", "memories": [{"name": "host"}, {"name": "accel0", "capacity": "96MiB"}],
               "devices": [{"name": "cpu", "memory": "host", "computes": False},
                           {"name": "accel0", "kind": "emulated", "memory": "accel0"}],
               "links": [{"between": ["host", "accel0"], "bytesPerSec": "6GB/s", "latency": "5us"}]}
    costs = [[900000, 5000 + operator["flops"] // 200] for operator in operators]
    return {"schema": 1, "graph": {"schema": 1, "name": f"{count} operators", "tensors": tensors, "operators": operators},
            "machine": machine, "costs": costs, "capacities": {"accel0": 96 << 20},
            "placement": ["accel0"] * count}


def main():
    solver, count, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    problem = make_problem(count)
    with tempfile.TemporaryDirectory() as folder:
        names = [f"{folder}/problem.json", f"{folder}/plan.json"]
        with open(names[0], "w", encoding="utf-8") as file:
            json.dump(problem, file)
        subprocess.run([solver, "swap", names[0], "--solver", "greedy", "--evals", "1", "--time", "0s", "-o", names[1]],
                       check=True, stdout=subprocess.DEVNULL)
        with open(names[1], encoding="utf-8") as file:
            plan = json.load(file)
    figures = {"minimumBytes": 0, "peakBytes": 0}
    summary = {"idealNs": 0, "lowerBoundNs": 0, "evaluations": 1, "memories": {"host": figures, "accel0": figures}, "baselines": []}
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"schema": 2, "problem": problem, "plan": plan, "summary": summary}, file)


if __name__ == "__main__":
    main()
