"""Models and fixtures that several tests use."""

from pathlib import Path

import pytest

MODELS = Path(__file__).parent.parent / "models"


def make_model(nodes, inputs, outputs, initializers=None, opset=17, name="graph"):
    """An onnx.ModelProto. Inputs and outputs are {name: (numpy type, shape)}; an extent may be a name."""
    import numpy as np
    from onnx import helper, numpy_helper

    number_of = getattr(helper, "np_dtype_to_tensor_dtype", None)
    if number_of is None:
        from onnx import mapping

        number_of = mapping.NP_TYPE_TO_TENSOR_TYPE.__getitem__

    def values(ports):
        return [helper.make_tensor_value_info(port, number_of(np.dtype(dtype)), shape)
                for port, (dtype, shape) in ports.items()]

    constants = [numpy_helper.from_array(np.asarray(array), key) for key, array in (initializers or {}).items()]
    graph = helper.make_graph(nodes, name, values(inputs), values(outputs), constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


@pytest.fixture
def add_model():
    """y = x + w, with a number of rows that is symbolic."""
    import numpy as np
    from onnx import helper

    return make_model([helper.make_node("Add", ["x", "w"], ["y"])], {"x": ("float32", ["rows", 4])},
                      {"y": ("float32", ["rows", 4])}, {"w": np.arange(4, dtype=np.float32)}, name="plus")
