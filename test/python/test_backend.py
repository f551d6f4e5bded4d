"""The backend of ONNX, beside the standard's own runner (backend_nodes.py)."""

import numpy as np
import pytest
import sluice
import sluice.backend
from conftest import make_model
from onnx import helper


def test_a_model_is_run_by_order_and_by_name(add_model):
    x = np.ones((2, 4), np.float32)
    prepared = sluice.backend.prepare(add_model)
    for inputs in ([x], {"x": x}, x):
        (y,) = prepared.run(inputs)
        np.testing.assert_array_equal(y, x + np.arange(4))
    # Sizes that are not declared are those of the data.
    assert prepared.run([np.ones((5, 4), np.float32)])[0].shape == (5, 4)
    (y,) = sluice.backend.run_model(add_model, [x])
    np.testing.assert_array_equal(y, x + np.arange(4))


def test_options_reach_the_compiler(add_model):
    prepared = sluice.backend.prepare(add_model, machine="emulated", memory="0%", search_evals=3, dims={"rows": 2})
    prepared.run([np.ones((2, 4), np.float32)])
    (session,) = prepared._sessions.values()
    assert session.plan().json["problem"]["machine"]["name"] == "emulated"


def test_a_node():
    node = helper.make_node("Sub", ["a", "b"], ["c"])
    a, b = np.array([5, 7], np.float32), np.array([1, 2], np.float32)
    for inputs in ([a, b], {"a": a, "b": b}):
        np.testing.assert_array_equal(sluice.backend.run_node(node, inputs)[0], a - b)
    (c,) = sluice.backend.run_node(node, [a, b], outputs_info=[(np.dtype("float32"), (2,))], opset_version=13)
    np.testing.assert_array_equal(c, a - b)


def test_devices():
    assert sluice.backend.supports_device("CPU") and not sluice.backend.supports_device("CUDA:0")
    with pytest.raises(sluice.Error, match="this backend does not support device 'CUDA'"):
        sluice.backend.prepare(make_model([helper.make_node("Neg", ["x"], ["y"])], {"x": ("float32", [1])},
                                          {"y": ("float32", [1])}), "CUDA")


def test_errors_come_with_the_first_run():
    model = make_model([helper.make_node("Expand", ["x", "n"], ["y"])], {"x": ("float32", [1]), "n": ("int64", [1])},
                       {"y": ("float32", ["m"])})
    # What the shapes leave open, the values decide.
    assert sluice.backend.prepare(model).run([np.ones(1, np.float32), np.array([6])])[0].shape == (6,)
    with pytest.raises(sluice.Error, match="3 inputs are given and the model has 2, give at most 2"):
        sluice.backend.prepare(model).run([np.ones(1, np.float32)] * 3)
