"""Sessions: steps on arrays, shapes, types, states and errors."""

import gc
import threading

import numpy as np
import pytest
import sluice
from conftest import make_model
from onnx import TensorProto, helper

W = np.arange(4, dtype=np.float32)


@pytest.fixture
def plus(add_model):
    return sluice.compile(add_model, dims={"rows": 3})


@pytest.fixture
def ranged(add_model):
    return sluice.compile(add_model, dims={"rows": range(1, 9)}, search_evals=1)


def test_a_session_describes_itself(plus):
    assert plus.name == "plus"
    assert plus.inputs == [sluice.Port("x", "float32", np.dtype("float32"), (3, 4))]
    assert repr(plus) == "<sluice.Session 'plus', (x: float32[3x4]) -> (y: float32[3x4])>"


def test_arrays_of_any_layout_give_the_same(plus):
    whole = np.arange(48, dtype=np.float32).reshape(3, 16)
    fortran = np.asfortranarray(whole[:, :4])
    shifted = np.frombuffer(b"?" + whole[:, :4].tobytes(), np.uint8)[1:].view(np.float32).reshape(3, 4)
    assert not shifted.flags.aligned or shifted.ctypes.data % 4 == 0
    frozen = whole[:, :4].copy()
    frozen.flags.writeable = False
    for x in (whole[:, :4], fortran, whole[:, ::4], whole[::-1, :4], shifted, frozen, whole[:, :4].tolist()):
        np.testing.assert_array_equal(plus.run({"x": x})["y"], np.asarray(x) + W)


def test_aligned_arrays_are_not_copied(plus):
    """The runtime gets the arrays' own addresses."""
    x, y = np.ones((3, 4), np.float32), np.zeros((3, 4), np.float32)
    result = plus.run({"x": x}, {"y": y})
    assert result["y"] is y
    np.testing.assert_array_equal(y, x + W)
    assert plus._addresses_in[0] == x.ctypes.data and plus._addresses_out[0] == y.ctypes.data


def test_results_are_new_arrays(plus):
    x = np.ones((3, 4), np.float32)
    one = plus.run({"x": x})["y"]
    kept = one.copy()
    plus.run({"x": 2 * x})
    np.testing.assert_array_equal(one, kept)


@pytest.mark.parametrize("inputs, text", [
    ({}, "input 'x' has no data, give an array for each of 'x'"),
    ({"x": np.ones((3, 4))}, "input 'x' needs float32 [3x4] and the array is float64 [3x4], convert the array"),
    ({"x": np.ones((3, 4), ">f4")}, "input 'x' needs float32 [3x4] and the array is >f4 [3x4], convert the array"),
    ({"x": np.ones((3, 4), np.int32)}, "input 'x' needs float32 [3x4] and the array is int32 [3x4], convert the array"),
    ({"x": np.ones((2, 4), np.float32)}, "input 'x' has extent 2 in dimension 0 and needs extent 3, give data of this extent"),
    ({"x": np.ones(12, np.float32)},
     "input 'x' needs float32 [3x4] and the array has shape [12], give an array of 2 dimensions"),
    ({"x": np.ones((3, 4), np.float32), "z": 1}, "the model has no input 'z', use 'x'"),
])
def test_wrong_inputs(plus, inputs, text):
    with pytest.raises(sluice.Error) as raised:
        plus.run(inputs)
    assert str(raised.value) == text
    np.testing.assert_array_equal(plus.run({"x": np.zeros((3, 4), np.float32)})["y"], np.tile(W, (3, 1)))


@pytest.mark.parametrize("outputs", [{"y": np.zeros((3, 4))}, {"y": np.zeros((4, 3), np.float32)},
                                     {"y": np.zeros((3, 8), np.float32)[:, ::2]}, {"q": np.zeros((3, 4), np.float32)}])
def test_wrong_outputs(plus, outputs):
    with pytest.raises(sluice.Error, match="output '[yq]'"):
        plus.run({"x": np.zeros((3, 4), np.float32)}, outputs)


def test_sizes_follow_the_inputs(ranged):
    for rows in (8, 1, 5, 5, 2):
        x = np.full((rows, 4), rows, np.float32)
        np.testing.assert_array_equal(ranged.run({"x": x})["y"], x + W)
    with pytest.raises(sluice.Error, match="input 'x' has extent 9 in dimension 0, which is symbol 'rows', give 1 to 8"):
        ranged.run({"x": np.zeros((9, 4), np.float32)})
    # The session keeps the shapes that it had.
    assert ranged.run({"x": np.zeros((2, 4), np.float32)})["y"].shape == (2, 4)


def test_a_closed_session_says_so(plus):
    with plus:
        pass
    with pytest.raises(sluice.Error, match="the session is closed"):
        plus.run({"x": np.zeros((3, 4), np.float32)})
    plus.close()


def test_no_artifact(tmp_path):
    with pytest.raises(sluice.Error, match="manifest.json"):
        sluice.load(tmp_path)


def test_changed_code(add_model, tmp_path):
    sluice.compile(add_model, output=tmp_path / "plus", dims={"rows": 3}).close()
    with sluice.load(tmp_path / "plus"):
        pass
    with open(tmp_path / "plus" / "model.so", "ab") as file:
        file.write(b"x")
    changed = "model.so' was changed, its hash is not the one in the manifest, compile the model again"
    with pytest.raises(sluice.Error, match=changed):
        sluice.load(tmp_path / "plus")


def test_threads_wait_for_each_other(ranged):
    def work(rows):
        for i in range(200):
            x = np.full((rows, 4), i, np.float32)
            np.testing.assert_array_equal(ranged.run({"x": x})["y"], x + W)

    failures = []

    def guarded(rows):
        try:
            work(rows)
        except BaseException as error:  # an assertion of a thread is lost otherwise
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(rows,)) for rows in (1, 3, 8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def identity(number, shape=(2, 3)):
    values = [helper.make_tensor_value_info(name, number, shape) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "same", values[:1], values[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)], ir_version=8)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bool", "int8", "int16", "int32", "int64", "uint8",
                                   "uint16", "uint32", "uint64"])
def test_element_types(dtype):
    model = make_model([helper.make_node("Identity", ["x"], ["y"])], {"x": (dtype, [2, 3])}, {"y": (dtype, [2, 3])})
    x = (np.arange(6).reshape(2, 3) % 2 if dtype == "bool" else np.arange(6).reshape(2, 3)).astype(dtype)
    y = sluice.compile(model).run({"x": x})["y"]
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(x, y)


def test_bfloat16_is_given_as_bits_or_as_its_own_type():
    session = sluice.compile(identity(TensorProto.BFLOAT16))
    bits = np.arange(0x3F80, 0x3F86, dtype=np.uint16).reshape(2, 3)
    y = session.run({"x": bits})["y"]
    np.testing.assert_array_equal(y.view(np.uint16), bits)
    np.testing.assert_array_equal(session.run({"x": y})["y"].view(np.uint16), bits)
    assert session.inputs[0].type == "bfloat16"


@pytest.mark.parametrize("texts", [["a", "", "grüße", "\U0001f40d" * 40, "two words", "0"], ["", "", "", "", "", ""]])
def test_strings(texts):
    session = sluice.compile(identity(TensorProto.STRING))
    x = np.array(texts, object).reshape(2, 3)
    for each in (x, x.astype(str), x.tolist()):
        y = session.run({"x": each})["y"]
        assert y.dtype == object
        assert y.tolist() == x.tolist()
    first = session.run({"x": x})["y"]
    session.run({"x": np.full((2, 3), "other", object)})
    gc.collect()
    assert first.tolist() == x.tolist()


def test_scalars_and_empty_tensors():
    model = make_model([helper.make_node("Neg", ["x"], ["y"])], {"x": ("float32", [])}, {"y": ("float32", [])})
    session = sluice.compile(model)
    for x in (np.float32(2), np.array(2, np.float32), 2.0):
        y = session.run({"x": x})["y"]
        assert y.shape == () and y == -2
    model = make_model([helper.make_node("Neg", ["x"], ["y"])], {"x": ("float32", ["n"])}, {"y": ("float32", ["n"])})
    assert sluice.compile(model, dims={"n": 0}).run({"x": np.zeros(0, np.float32)})["y"].shape == (0,)


def test_outputs_have_the_shape_that_a_step_finds():
    model = make_model([helper.make_node("NonZero", ["x"], ["y"])], {"x": ("float32", [40])}, {"y": ("int64", [1, "n"])})
    session = sluice.compile(model)
    for count in (0, 7, 40, 1):
        x = np.zeros(40, np.float32)
        x[:count] = 1
        y = session.run({"x": x})["y"]
        np.testing.assert_array_equal(y, [np.arange(count)])
        # A small part does not keep the room for the bound.
        assert y.base is None or y.base.size <= 2 * max(y.size, 1) or count == 40
    with pytest.raises(sluice.Error, match="known only after the step"):
        session.run({"x": x}, {"y": np.zeros((1, 40), np.int64)})


def test_sequences_have_the_length_that_a_step_finds():
    inputs = [helper.make_tensor_value_info("x", 1, [6, 2]), helper.make_tensor_value_info("size", 7, [])]
    outputs = [helper.make_tensor_sequence_value_info("s", 1, None)]
    graph = helper.make_graph([helper.make_node("SplitToSequence", ["x", "size"], ["s"], axis=0)], "parts", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    session = sluice.compile(model, bounds={"size": (1, 6)})
    x = np.arange(12, dtype=np.float32).reshape(6, 2)
    for size in (2, 6, 4, 1):
        results = session.run({"x": x, "size": np.array(size)})
        parts = [x[at:at + size] for at in range(0, 6, size)]
        assert list(results) == [f"s[{i}]" for i in range(len(parts))]
        for part, result in zip(parts, results.values()):
            np.testing.assert_array_equal(part, result)


def counter():
    """total' = total + x"""
    return make_model([helper.make_node("Add", ["total", "x"], ["next"])],
                      {"total": ("float32", [2]), "x": ("float32", [2])}, {"next": ("float32", [2])})


def test_states_live_on_between_steps():
    session = sluice.compile(counter(), states={"total": "next"})
    assert [port.name for port in session.states] == ["total"]
    x = np.array([1, 10], np.float32)
    for step in range(1, 4):
        session.run({"x": x})
        np.testing.assert_array_equal(session.read_state("total"), step * x)
    session.write_state("total", np.array([5, 5], np.float32))
    session.run({"x": x})
    np.testing.assert_array_equal(session.read_state("total"), [6, 15])
    session.reset()
    np.testing.assert_array_equal(session.read_state("total"), [0, 0])
    with pytest.raises(sluice.Error, match="the model has no state 'x', use 'total'"):
        session.read_state("x")
    with pytest.raises(sluice.Error, match=r"state 'total' has shape \[2\] and the array \[3\]"):
        session.write_state("total", np.zeros(3, np.float32))


def test_states_are_cut():
    """A state of the positions so far; `y` is their sum."""
    model = make_model([helper.make_node("Concat", ["past", "x"], ["present"], axis=0),
                        helper.make_node("ReduceSum", ["present"], ["y"], keepdims=0)],
                       {"past": ("float32", ["length", 2]), "x": ("float32", [1, 2])},
                       {"present": ("float32", ["after", 2]), "y": ("float32", [])})
    session = sluice.compile(model, dims={"length": range(0, 8)}, states={"past": "present"})
    for value in range(4):
        y = session.run({"x": np.full((1, 2), value, np.float32)})["y"]
    assert y == 12
    session.set_length("length", 2)
    assert session.run({"x": np.full((1, 2), 10, np.float32)})["y"] == 22
    with pytest.raises(sluice.Error, match="the model has no symbol 'x', use 'length'"):
        session.set_length("x", 1)
    with pytest.raises(sluice.Error):
        session.set_length("length", 100)


def test_statistics_of_a_step(add_model):
    session = sluice.compile(add_model, dims={"rows": 16}, machine="emulated", memory="0%", search_evals=5)
    x = np.ones((16, 4), np.float32)
    np.testing.assert_array_equal(session.run({"x": x})["y"], x + W)
    stats = session.stats()
    assert (stats.bytes_in, stats.bytes_out) == session.plan().bytes_swapped
    assert stats.step_ns > 0
    assert stats.arena_bytes["accel0"] == session.plan().memories["accel0"].planned
    assert isinstance(session.notes(), list)


def endless():
    """Counts until it has counted `n` times."""
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["again"]), helper.make_node("Add", ["v", "one"], ["w"])], "body",
        [helper.make_tensor_value_info("i", 7, []), helper.make_tensor_value_info("go", 9, []),
         helper.make_tensor_value_info("v", 1, [1])],
        [helper.make_tensor_value_info("again", 9, []), helper.make_tensor_value_info("w", 1, [1])])
    loop = helper.make_node("Loop", ["n", "yes", "x"], ["y"], body=body)
    return make_model([loop], {"n": ("int64", []), "x": ("float32", [1])}, {"y": ("float32", [1])},
                      {"one": np.ones(1, np.float32), "yes": np.array(True)})


def test_a_step_can_be_stopped():
    session = sluice.compile(endless())
    x = np.zeros(1, np.float32)
    assert session.run({"n": np.array(20), "x": x})["y"] == 20
    timer = threading.Timer(0.2, session.stop)
    timer.start()
    with pytest.raises(sluice.Error):
        session.run({"n": np.array(2**40), "x": x})
    timer.join()
    session.resume()
    assert session.run({"n": np.array(3), "x": x})["y"] == 3
