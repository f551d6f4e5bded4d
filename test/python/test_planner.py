"""The planner for other compilers. Nothing here needs numpy or ONNX."""

import itertools
import json
import random

import pytest
from sluice import planner


def live_peak(buffers):
    return max(sum(b.bytes for b in buffers if b.lower <= time < b.upper) for time in {b.lower for b in buffers})


def assert_valid(buffers, packing):
    for (a, at_a), (b, at_b) in itertools.combinations(zip(buffers, packing.offsets), 2):
        if a.lower < b.upper and b.lower < a.upper:
            assert at_a + a.bytes <= at_b or at_b + b.bytes <= at_a
    for buffer, offset in zip(buffers, packing.offsets):
        assert offset % buffer.alignment == 0 and offset >= 0
    assert packing.peak == max(offset + buffer.bytes for buffer, offset in zip(buffers, packing.offsets))


@pytest.mark.parametrize("solver", ["search", "best-fit", "owl"])
def test_packings_are_valid(solver):
    choose = random.Random(3)
    buffers = []
    for _ in range(40):
        lower = choose.randrange(30)
        buffers.append(planner.Buffer(lower, lower + choose.randrange(1, 9), choose.randrange(1, 50),
                                      choose.choice([1, 4, 16])))
    packing = planner.pack(buffers, solver=solver, evaluations=500)
    assert_valid(buffers, packing)
    assert packing.live == live_peak(buffers)
    assert packing.live <= packing.bound <= packing.peak


def test_a_small_packing_is_proven_optimal():
    # Bytes that are live at one time never exceed 5, and no packing takes less than 6.
    sizes = [(0, 1, 3), (0, 2, 2), (1, 4, 2), (2, 4, 1), (1, 5, 1), (2, 5, 1), (4, 6, 3), (5, 6, 2)]
    buffers = [planner.Buffer(*each) for each in sizes]
    packing = planner.pack(buffers)
    assert_valid(buffers, packing)
    assert (packing.peak, packing.bound, packing.live, packing.is_optimal) == (6, 6, 5, True)
    with pytest.raises(planner.Error, match="the buffers need at least 6 bytes, which exceeds the capacity of"):
        planner.pack(buffers, capacity=5)


def test_nothing_needs_nothing():
    assert planner.pack([]).offsets == []


def test_bad_buffers_are_refused():
    with pytest.raises(planner.Error, match="buffer '0' ends at 2, before it starts at 4"):
        planner.pack([planner.Buffer(4, 2, 8)])


def chain(length=6):
    graph = planner.Graph("chain")
    tensor = graph.input("x", 64)
    for i in range(length):
        weight = graph.parameter(f"w{i}", 640)
        (tensor,) = graph.operator(f"op{i}", [tensor, weight], {f"h{i}": 128}, times={"accel0": 100})
    graph.output(tensor)
    return graph


MACHINE = planner.machine(planner.accelerator(capacity=16384, bytes_per_sec="1GB/s", latency="20ns"))


def test_plans_keep_to_their_memory():
    problem = chain().problem(MACHINE)
    free = planner.plan(problem, evaluations=20)
    small = planner.plan(problem, memory={"accel0": 896}, evaluations=20)
    assert small.arenas["accel0"] <= 896 < free.arenas["accel0"]
    assert small.makespan_ns > free.makespan_ns >= free.lower_bound_ns
    assert small.order == [f"op{i}" for i in range(6)]
    assert set(small.placement.values()) == {"accel0"}
    # Less memory than all weights: they come in as the step goes on, and the result goes out.
    assert {swap.tensor for swap in small.swaps} >= {f"w{i}" for i in range(2, 6)}
    assert small.swaps[-1].destination == "host"
    for _, offset, size in small.offsets("accel0"):
        assert 0 <= offset and offset + size <= small.arenas["accel0"]


def test_plans_do_not_depend_on_threads():
    problem = chain().problem(MACHINE)
    one, two = (planner.plan(problem, memory="0%", evaluations=40, threads=threads) for threads in (1, 2))
    assert one.text == two.text


def test_the_validator_accepts_plans_and_refuses_broken_ones():
    problem = chain().problem(MACHINE)
    plan = planner.plan(problem, memory="0%", evaluations=20)
    assert planner.check(problem, plan) == plan.makespan_ns
    broken = json.loads(plan.text)
    for command in broken["commands"]:
        command.pop("waits", None)
    with pytest.raises(planner.Error):
        planner.check(problem, json.dumps(broken))


def test_too_little_memory_names_the_operator():
    with pytest.raises(planner.Error, match="operator 'op1' needs .* memory 'accel0'"):
        planner.plan(chain().problem(MACHINE), memory={"accel0": 256}, evaluations=5)


def test_placement_uses_the_faster_device():
    graph = planner.Graph()
    x = graph.input("x", 64)
    (a,) = graph.operator("slow-here", [x], {"a": 64}, times={"cpu": 9000, "accel0": 100})
    (b,) = graph.operator("pinned", [a], {"b": 64}, times={"cpu": 10, "accel0": 10}, device="cpu")
    graph.output(b)
    machine = planner.machine(planner.accelerator(bytes_per_sec="1GB/s", latency="20ns"), host_computes=True)
    placed = planner.place(graph.problem(machine))
    assert placed.devices == {"slow-here": "accel0", "pinned": "cpu"}
    assert placed.bound_ns <= placed.makespan_ns


def test_states_and_in_place_results():
    graph = planner.Graph()
    x, state = graph.input("x", 64), graph.state("s", 64)
    (new,) = graph.operator("update", [x, state], {"s'": 64}, in_place=[(1, 0)], updates={"s'": state}, flops=1000,
                            workspace=128)
    graph.output(new)
    machine = planner.machine(planner.accelerator(capacity="1MiB", flops_per_sec=1e9))
    plan = planner.plan(graph.problem(machine), evaluations=5)
    assert plan.order == ["update"]
    assert plan.makespan_ns >= 1000


def test_a_time_that_is_missing_is_named():
    graph = planner.Graph()
    graph.operator("one", [], {"a": 1}, times={"accel0": 5})
    machine = planner.machine(planner.accelerator(), host_computes=True)
    with pytest.raises(ValueError, match="operator 'one' has no time on device 'cpu'"):
        graph.problem(machine)


def test_tiling_of_an_instance():
    # The contest's smallest case: the memory forbids both nodes' first strategy together.
    instance = {"problem": {
        "name": "pair",
        "nodes": {"intervals": [[0, 2], [1, 3]], "costs": [[10, 4], [3, 8]], "usages": [[16, 32], [16, 8]]},
        "edges": {"nodes": [[0, 1]], "costs": [[0, 5, 6, 0]]},
        "usage_limit": 40}}
    tiling = planner.tile(instance)
    # Strategies and costs: (0,0) 13, (0,1) 23, (1,0) 13 with 48 bytes, (1,1) 12.
    assert (tiling.choice, tiling.cost, tiling.bound, tiling.is_optimal) == ([1, 1], 12, 12, True)
