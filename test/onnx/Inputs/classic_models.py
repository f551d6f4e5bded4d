"""Models of ai.onnx.ml, whose results ONNX Runtime has computed.

  classic_models.py write RESULTS FOLDER   a test of ONNX's backend layout for each case, with the recorded results
  classic_models.py record RESULTS         runs all cases by ONNX Runtime, where it is installed, and records them

Cases are those about which the standard or else ONNX Runtime decides; where results of ours differ from ONNX Runtime's
(docs/rationale/classic-models.md), there is no case.
"""

import json
import os
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

DOMAIN = "ai.onnx.ml"
TYPES = {"f": TensorProto.FLOAT, "d": TensorProto.DOUBLE, "i": TensorProto.INT64, "s": TensorProto.STRING}
NAN = float("nan")
cases = []


def case(name, operator, inputs, outputs, version=3, **attributes):
    inputs = inputs if isinstance(inputs, list) else [inputs]
    names = [f"x{i}" for i in range(len(inputs))]
    results = [f"y{i}" for i in range(len(outputs))]
    node = helper.make_node(operator, names, results, domain=DOMAIN, **attributes)
    infos = [helper.make_tensor_value_info(n, numpy_helper.from_array(x).data_type, x.shape) for n, x in zip(names, inputs)]
    graph = helper.make_graph([node], name, infos, [helper.make_tensor_value_info(n, TYPES[t], None) for n, t in zip(results, outputs)])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, version)]
    cases.append((name, helper.make_model(graph, opset_imports=opsets, ir_version=8), inputs, outputs))


def texts(*values):
    return numpy.array(values, object)


def floats(*values):
    return numpy.array(values, numpy.float32)


X = floats([0.3, -0.2], [-1, 0.5], [0.25, 0.125], [2, 1])
PROBABILITIES = floats([0.3, 0.2], [0.6, 0.5], [0.25, 0.125], [0.9, 0.05])

for transform in ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"):
    linear = {"coefficients": [1.0, 0.5, 0.2, 0.3], "post_transform": transform}
    case(f"linear_regressor_{transform}", "LinearRegressor", X, "f", targets=2, intercepts=[0.1, -0.3], **linear)
    case(f"linear_classifier_{transform}", "LinearClassifier", X, "if", classlabels_ints=[7, 9], intercepts=[0.1, -0.3], **linear)
case("linear_regressor_probit", "LinearRegressor", PROBABILITIES, "f", coefficients=[0.5, 0.25], post_transform="PROBIT")
case("linear_regressor_list", "LinearRegressor", X[0], "f", coefficients=[0.5, 0.25])
for transform in ("NONE", "LOGISTIC"):
    case(f"linear_classifier_one_{transform}", "LinearClassifier", X, "sf", coefficients=[1.0, 0.5], intercepts=[0.1],
         classlabels_strings=["no", "yes"], post_transform=transform)

VECTORS = {"support_vectors": [1.0, 0, 0, 1, 0.5, 0.5], "kernel_params": [0.5, 0.2, 3]}
for kernel in ("LINEAR", "POLY", "RBF", "SIGMOID"):
    case(f"svm_regressor_{kernel}", "SVMRegressor", X, "f", coefficients=[1.0, -0.5, 0.25], n_supports=3, rho=[0.1],
         kernel_type=kernel, **VECTORS)
    case(f"svm_classifier_{kernel}", "SVMClassifier", X, "if", coefficients=[0.1, 0.2, 0.3, 0.4, 0.5, -0.6],
         vectors_per_class=[1, 1, 1], rho=[0.1, 0.01, -0.1], classlabels_ints=[7, 8, 9], kernel_type=kernel, **VECTORS)
case("svm_regressor_linear", "SVMRegressor", X, "f", coefficients=[1.0, -0.5], rho=[0.1], kernel_params=[0.0, 0, 0])
case("svm_regressor_one_class", "SVMRegressor", X, "f", coefficients=[1.0, -0.5], rho=[0.1], one_class=1, kernel_params=[0.0, 0, 0])
TWO = {"coefficients": [1.0, -0.5, 0.25], "vectors_per_class": [2, 1], "rho": [0.1], **VECTORS}
for transform in ("NONE", "LOGISTIC"):
    case(f"svm_classifier_two_{transform}", "SVMClassifier", X, "sf", classlabels_strings=["a", "b"], post_transform=transform, **TWO)
case("svm_classifier_two_probabilities", "SVMClassifier", X, "if", classlabels_ints=[3, 4], prob_a=[-1.0], prob_b=[0.1], **TWO)
for count in (3, 5):
    random = numpy.random.default_rng(count)
    pairs = count * (count - 1) // 2
    case(f"svm_classifier_{count}_probabilities", "SVMClassifier", random.normal(size=(9, 4)).astype("f"), "if",
         coefficients=random.normal(size=(count - 1) * 3 * count), support_vectors=random.normal(size=3 * count * 4),
         vectors_per_class=[3] * count, rho=random.normal(size=pairs), prob_a=-random.uniform(0.5, 2, pairs),
         prob_b=random.normal(size=pairs) / 4, classlabels_ints=list(range(count)), kernel_type="RBF", kernel_params=[0.3, 0, 0])
case("svm_classifier_linear", "SVMClassifier", X, "if", coefficients=[0.1, 0.2, 0.3, 0.4, 0.5, -0.6], rho=[0.1],
     classlabels_ints=[7, 8, 9], kernel_params=[0.0, 0, 0], post_transform="SOFTMAX")


class Trees:
    """Random trees in the older form."""

    def __init__(self, seed, trees, features, depth, modes=("BRANCH_LEQ",), missing=False):
        self.random, self.features, self.modes, self.missing = numpy.random.default_rng(seed), features, modes, missing
        names = ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids", "missing_value_tracks_true")
        self.nodes = {f"nodes_{name}": [] for name in names}
        self.leaves = []
        for tree in range(trees):
            self.count = 0
            self.grow(tree, depth)
        if not missing:
            del self.nodes["nodes_missing_value_tracks_true"]

    def grow(self, tree, depth):
        number, place = self.count, len(self.nodes["nodes_treeids"])
        self.count += 1
        is_leaf = depth == 0 or (number > 0 and self.random.random() < 0.2)
        threshold = 0.0 if is_leaf else float(numpy.float32(round(self.random.normal() * 4) / 4))
        row = (tree, number, 0 if is_leaf else int(self.random.integers(self.features)),
               "LEAF" if is_leaf else str(self.random.choice(self.modes)), threshold, 0, 0, int(self.random.integers(2)))
        for values, value in zip(self.nodes.values(), row):
            values.append(value)
        if is_leaf:
            self.leaves.append((tree, number))
            return number
        for name in ("truenodeids", "falsenodeids"):
            self.nodes[f"nodes_{name}"][place] = self.grow(tree, depth - 1)
        return number

    def weights(self, kind, targets, positive=False):
        rows = [(tree, node, target) for tree, node in self.leaves for target in targets]
        values = self.random.normal(size=len(rows)).astype("f")
        return {f"{kind}_treeids": [row[0] for row in rows], f"{kind}_nodeids": [row[1] for row in rows],
                f"{kind}_ids": [row[2] for row in rows], f"{kind}_weights": (numpy.abs(values) / 8 if positive else values).tolist()}


def rows(seed, count, features, missing=False):
    random = numpy.random.default_rng(seed)
    x = (random.normal(size=(count, features)) * 4).round().astype("f") / 4
    if missing:
        x[random.random(x.shape) < 0.2] = NAN
    return x


MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
for number, aggregate in enumerate(("SUM", "AVERAGE", "MIN", "MAX")):
    for targets in (1, 3):
        trees = Trees(number, 5, 4, 4)
        case(f"tree_regressor_{aggregate}_{targets}", "TreeEnsembleRegressor", rows(number, 17, 4), "f", n_targets=targets,
             aggregate_function=aggregate, base_values=[0.5, -1, 2][:targets], **trees.nodes, **trees.weights("target", range(targets)))
for mode in MODES:
    trees = Trees(11, 3, 3, 3, (mode,))
    case(f"tree_regressor_{mode}", "TreeEnsembleRegressor", rows(5, 33, 3), "f", n_targets=1, **trees.nodes, **trees.weights("target", [0]))
    trees = Trees(12, 3, 3, 3, (mode,), missing=True)
    case(f"tree_regressor_{mode}_missing", "TreeEnsembleRegressor", rows(5, 33, 3, missing=True), "f", n_targets=1, **trees.nodes,
         **trees.weights("target", [0]))
trees = Trees(21, 9, 6, 6, MODES, missing=True)
case("tree_regressor_mixed", "TreeEnsembleRegressor", rows(6, 40, 6, missing=True), "f", n_targets=2, **trees.nodes, **trees.weights("target", [0, 1]))
trees = Trees(22, 4, 3, 5)
attributes = {**trees.nodes, **trees.weights("target", [0])}
for name in ("nodes_values", "target_weights"):
    attributes[f"{name}_as_tensor"] = helper.make_tensor(name, TensorProto.DOUBLE, [len(attributes[name])], attributes.pop(name))
case("tree_regressor_double", "TreeEnsembleRegressor", rows(7, 20, 3).astype("d"), "f", n_targets=1, **attributes)
for transform in ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"):
    trees = Trees(31, 6, 4, 4)
    case(f"tree_classifier_{transform}", "TreeEnsembleClassifier", rows(8, 19, 4), "if", classlabels_int64s=[5, 3, 8], post_transform=transform,
         base_values=[0.25, 0.5, -0.5], **trees.nodes, **trees.weights("class", range(3)))
for transform in ("NONE", "LOGISTIC"):
    for sign in ("positive", "mixed"):
        trees = Trees(32, 6, 4, 4)
        case(f"tree_classifier_two_{transform}_{sign}", "TreeEnsembleClassifier", rows(9, 19, 4), "sf", classlabels_strings=["no", "yes"],
             post_transform=transform, **trees.nodes, **trees.weights("class", [0], positive=sign == "positive"))
trees = Trees(33, 6, 4, 4)
case("tree_classifier_second", "TreeEnsembleClassifier", rows(9, 19, 4), "if", classlabels_int64s=[0, 1], **trees.nodes,
     **trees.weights("class", [1], positive=True))
trees = Trees(34, 6, 4, 4)
case("tree_classifier_one_base", "TreeEnsembleClassifier", rows(9, 19, 4), "if", classlabels_int64s=[0, 1], base_values=[-0.25],
     post_transform="LOGISTIC", **trees.nodes, **trees.weights("class", [0]))

def ensemble(modes, members, missing, aggregate):
    """Three nodes in the newer form, of which node 1 is the only one below node 0, and four leaves."""
    tensors = {"nodes_modes": (TensorProto.UINT8, modes), "nodes_splits": (TensorProto.FLOAT, [0.5, 0.25, -0.5]),
               "leaf_weights": (TensorProto.FLOAT, [5.0, 12, -12, 7]), "membership_values": (TensorProto.FLOAT, members)}
    attributes = {name: helper.make_tensor(name, kind, [len(values)], values) for name, (kind, values) in tensors.items() if values}
    return dict(n_targets=2, tree_roots=[0, 2], nodes_featureids=[0, 1, 0], nodes_truenodeids=[1, 0, 1], nodes_trueleafs=[0, 1, 1],
                nodes_falsenodeids=[2, 3, 3], nodes_falseleafs=[1, 1, 1], leaf_targetids=[0, 1, 0, 1],
                nodes_missing_value_tracks_true=missing, aggregate_function=aggregate, **attributes)


for aggregate in range(4):
    case(f"tree_ensemble_{aggregate}", "TreeEnsemble", rows(40, 21, 2, missing=True), "f", version=5,
         **ensemble([0, 3, 1], None, [0, 1, 1], aggregate))
case("tree_ensemble_members", "TreeEnsemble", (rows(41, 40, 2, missing=True) * 2).round(), "f", version=5,
     **ensemble([2, 6, 6], [1.0, -1, 2, NAN, 0, NAN], [0, 1, 0], 1))

case("scaler", "Scaler", X, "f", offset=[0.5, -1], scale=[2.0, 0.25])
for norm in ("MAX", "L1", "L2"):
    case(f"normalizer_{norm}", "Normalizer", floats([1, -2, 2], [0, 0, 0], [0.5, 0.25, 4]), "f", norm=norm)
case("normalizer_max_negative", "Normalizer", floats([-1, -2]), "f", norm="MAX")
case("imputer_nan", "Imputer", floats([1, NAN], [NAN, 2]), "f", imputed_value_floats=[5.0, 6], replaced_value_float=NAN)
case("imputer_one", "Imputer", floats([1, -1], [-1, 2]), "f", imputed_value_floats=[5.0], replaced_value_float=-1.0)
case("imputer_int", "Imputer", numpy.array([[1, 0], [0, 2]]), "i", imputed_value_int64s=[5, 6], replaced_value_int64=0)
case("feature_vectorizer", "FeatureVectorizer", [X, numpy.arange(4).reshape(4, 1).astype("f")], "f", inputdimensions=[2, 1])
case("one_hot_int", "OneHotEncoder", numpy.array([[3, 7], [5, 4]]), "f", cats_int64s=[7, 3, 5])
case("one_hot_float", "OneHotEncoder", floats(3, 7, 9), "f", cats_int64s=[7, 3, 5])
case("one_hot_text", "OneHotEncoder", texts("b", "a", "c"), "f", cats_strings=["a", "b"])
case("one_hot_known", "OneHotEncoder", texts("b", "a"), "f", cats_strings=["a", "b"], zeros=0)
case("category_to_int", "CategoryMapper", texts("b", "a", "c"), "i", cats_strings=["a", "b"], cats_int64s=[4, 6], default_int64=-7)
case("category_to_text", "CategoryMapper", numpy.array([4, 6, 5]), "s", cats_strings=["a", "b"], cats_int64s=[4, 6], default_string="none")
case("labels_int_text", "LabelEncoder", numpy.array([[4, 6], [5, 4]]), "s", version=2, keys_int64s=[4, 6], values_strings=["a", "b"])
case("labels_float_int", "LabelEncoder", floats(1.5, NAN, 2), "i", version=4, keys_floats=[1.5, 2.5, NAN], values_int64s=[5, 6, 7])
case("labels_far_int_float", "LabelEncoder", numpy.array([-(2**62), 2**62, 0]), "f", version=2, keys_int64s=[2**62, -(2**62)],
     values_floats=[1.5, 2.5], default_float=-4.0)
case("labels_text_text", "LabelEncoder", texts("x", "y"), "s", version=2, keys_strings=["y"], values_strings=["z"], default_string="w")


def readable(array):
    return array.astype(object).tolist()


def tensor(name, values, kind):
    dtype = {"f": "f", "d": "d", "i": "int64", "s": object}[kind]
    result = numpy_helper.from_array(numpy.array(values, dtype), name)
    return result


def record(path):
    import onnxruntime
    results = {}
    for name, model, inputs, _ in cases:
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        fed = {value.name: x for value, x in zip(session.get_inputs(), inputs)}
        results[name] = [readable(y) for y in session.run(None, fed)]
    with open(path, "w", encoding="utf-8") as file:
        file.write("{\n" + ",\n".join(f" {json.dumps(name)}: {json.dumps(value)}" for name, value in results.items()) + "\n}\n")


def write(path, folder):
    with open(path, encoding="utf-8") as file:
        results = json.load(file)
    assert list(results) == [name for name, *_ in cases], "record the results again"
    for name, model, inputs, outputs in cases:
        data = f"{folder}/test_{name}/test_data_set_0"
        os.makedirs(data)
        onnx.save(model, f"{folder}/test_{name}/model.onnx")
        values = [(f"input_{i}", numpy_helper.from_array(x, f"x{i}")) for i, x in enumerate(inputs)]
        values += [(f"output_{i}", tensor(f"y{i}", y, kind)) for i, (y, kind) in enumerate(zip(results[name], outputs))]
        for file_name, value in values:
            with open(f"{data}/{file_name}.pb", "wb") as file:
                file.write(value.SerializeToString())
    print(len(cases), "cases")


{"record": record, "write": write}[sys.argv[1]](*sys.argv[2:])
