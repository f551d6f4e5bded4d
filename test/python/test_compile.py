"""Compiling and planning from Python."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
import sluice
from conftest import MODELS, make_model
from onnx import helper
from sluice._process import find_program

PROGRAM = find_program("sluice", Path(sluice.__file__).parent)
JUMPERHARD = MODELS / "jumperhard" / "model.onnx"


def cli_error(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    return done.stderr.removeprefix("error: ").rstrip("\n")


def test_models_by_path_by_bytes_and_by_message(tmp_path, add_model):
    path = tmp_path / "plus.onnx"
    path.write_bytes(add_model.SerializeToString())
    x = np.ones((2, 4), np.float32)
    for model in (path, str(path), add_model, add_model.SerializeToString()):
        session = sluice.compile(model, dims={"rows": 2})
        np.testing.assert_array_equal(session.run({"x": x})["y"], x + np.arange(4, dtype=np.float32))
    assert sluice.compile(add_model, dims={"rows": 2}).name == "plus"


def test_errors_have_the_text_of_the_command_line(tmp_path, add_model):
    path = tmp_path / "plus.onnx"
    path.write_bytes(add_model.SerializeToString())
    for arguments, options in ((["plan", str(path)], {}),
                               (["plan", str(path), "--dim", "rows=1", "--machine", "none.json"],
                                {"dims": {"rows": 1}, "machine": "none.json"}),
                               (["plan", str(path), "--dim", "row=1"], {"dims": {"row": 1}})):
        with pytest.raises(sluice.Error) as raised:
            sluice.plan(path, **options)
        assert str(raised.value) == cli_error(*arguments)
    with pytest.raises(sluice.UsageError, match="--search-tim"):
        sluice.compile(path, dims={"rows": 1}, search_tim="4s")


def test_an_error_that_lists_nodes_keeps_them(add_model):
    for operator, result in (("NoSuchThing", "z"), ("NoSuchOther", "q")):
        add_model.graph.node.append(helper.make_node(operator, ["y"], [result]))
        add_model.graph.output.append(helper.make_tensor_value_info(result, 1, None))
    with pytest.raises(sluice.Error, match="(?s)NoSuchThing.*NoSuchOther"):
        sluice.compile(add_model, dims={"rows": 1})


def test_nothing_is_left_behind(tmp_path, add_model, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    session = sluice.compile(add_model, dims={"rows": 1})
    assert session.path.parent == tmp_path
    session.close()
    with pytest.raises(sluice.Error):
        sluice.compile(add_model)
    assert list(tmp_path.iterdir()) == []


def test_output_stays(tmp_path, add_model):
    with sluice.compile(add_model, dims={"rows": 1}, output=tmp_path / "plus"):
        pass
    assert sluice.load(tmp_path / "plus").inputs[0].shape == (1, 4)
    assert (tmp_path / "plus" / "model.h").exists()


@pytest.mark.parametrize("sizes, least, most, step", [
    (range(1, 9), 1, 8, 1), ((1, 8), 1, 8, 1), (range(2, 9, 3), 2, 8, 3), ((4, 12, 4), 4, 12, 4), ("1..8", 1, 8, 1),
    ([2, 8], 1, 8, 1)])
def test_ranges_of_sizes(add_model, sizes, least, most, step):
    session = sluice.compile(add_model, dims={"rows": sizes}, search_evals=2)
    assert session.symbols == [sluice.Symbol("rows", least, most, step)]


def test_sizes_that_are_no_range(add_model):
    for sizes in (range(5, 1), (1, 2, 3, 4)):
        with pytest.raises(sluice.UsageError):
            sluice.compile(add_model, dims={"rows": sizes})


def test_a_memory_limit_is_kept():
    options = {"machine": "emulated", "dims": {"batch_size": 1}, "search_evals": 20}
    free = sluice.plan(JUMPERHARD, **options)
    tight = sluice.plan(JUMPERHARD, memory={"accel0": "0%"}, **options)
    use = tight.memories["accel0"]
    assert use.minimum <= use.planned <= use.limit < use.peak <= free.memories["accel0"].planned
    assert tight.bytes_swapped[0] > 0
    assert free.bytes_swapped < tight.bytes_swapped
    assert tight.lower_bound_ns <= tight.makespan_ns
    assert set(tight.placement) == set(tight.order)


def test_a_plan_can_be_saved_followed_and_shown(tmp_path):
    options = {"machine": "emulated", "dims": {"batch_size": 1}, "memory": "20%"}
    plan = sluice.plan(JUMPERHARD, search_evals=20, **options)
    plan.save(tmp_path / "plan.json")
    assert sluice.read_plan(tmp_path / "plan.json").text == plan.text
    session = sluice.compile(JUMPERHARD, plan=plan, **options)
    assert session.plan().json["plan"] == plan.json["plan"]
    report = session.report()
    assert report.html.startswith("<!DOCTYPE html>") and plan.json["plan"]["placement"][0][0] in report.html
    assert report._repr_html_().startswith("<iframe srcdoc=")
    assert "&lt;html lang=" in report._repr_html_()
    report.save(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == report.html
    assert "accel0" in repr(plan) and "<td>accel0</td>" in plan._repr_html_()


def test_a_machine_as_json(add_model):
    done = subprocess.run([PROGRAM, "machine", "emulated", "--format=json"], capture_output=True, check=True)
    machine = json.loads(done.stdout)
    machine["name"] = "mine"
    plan = sluice.plan(add_model, machine=machine, dims={"rows": 1})
    assert plan.json["problem"]["machine"]["name"] == "mine"


def test_fixed_values_bounds_and_shapes():
    model = make_model([helper.make_node("Expand", ["x", "n"], ["y"])], {"x": ("float32", [1]), "n": ("int64", [1])},
                       {"y": ("float32", ["m"])})
    fixed = sluice.compile(model, fixed={"n": np.array([3])})
    assert fixed.run({"x": np.ones(1, np.float32)})["y"].shape == (3,)
    np.testing.assert_array_equal(fixed.inputs[-1].value, [3])
    with pytest.raises(sluice.Error, match="'n'"):
        fixed.run({"x": np.ones(1, np.float32), "n": np.array([4])})
    bounded = sluice.compile(model, bounds={"n": 5})
    assert bounded.run({"x": np.ones(1, np.float32), "n": np.array([4])})["y"].shape == (4,)
    with pytest.raises(sluice.Error):
        bounded.run({"x": np.ones(1, np.float32), "n": np.array([6])})


def test_sequences_have_the_shapes_given():
    inputs = [helper.make_tensor_sequence_value_info("s", 1, None)]
    outputs = [helper.make_tensor_value_info("y", 1, None)]
    graph = helper.make_graph([helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=0)], "joins", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    session = sluice.compile(model, shapes={"s": [(2, 3), (1, 3)]})
    parts = [np.ones((2, 3), np.float32), np.zeros((1, 3), np.float32)]
    np.testing.assert_array_equal(session.run({"s": parts})["y"], np.concatenate(parts))
    np.testing.assert_array_equal(session.run({"s[0]": parts[0], "s[1]": parts[1]})["y"], np.concatenate(parts))
    with pytest.raises(sluice.Error, match=r"'s\[1\]'"):
        session.run({"s": parts[:1]})
