"""The commands whose failures are tested, and the files that they need.

In an argument, {models} is test/models, {fixtures} a folder that `PREPARE` fills once, and {out} an empty folder of
each run; what a command writes there is compared with what it writes without a failure.
"""

from __future__ import annotations

import dataclasses
import json
import pathlib

JUMPER = ["{models}/jumperhard/model.onnx", "--dim", "batch_size=1"]
BERT = ["{models}/tinybert/model.onnx", "--dim", "batch=1", "--dim", "sequence=16"]
QUICK = ["--search-evals", "4", "--threads", "1"]
EMULATED = ["--machine", "emulated", "--memory", "accel0=20%"]


@dataclasses.dataclass(frozen=True)
class Command:
    name: str
    arguments: list[str]
    # Fixtures that are copied into {out}, for a command that writes beside its input.
    copies: tuple[str, ...] = ()
    # A command whose files are those that this one writes first and then replaces: an error may leave them.
    earlier: tuple[str, ...] = ()
    # What a file of this name lists depends on measured times: it is whole if this command reads it.
    readers: tuple[tuple[str, list[str]], ...] = ()


def tool(name: str, *arguments: str | list[str]) -> list[str]:
    flat = [name]
    for argument in arguments:
        flat += [argument] if isinstance(argument, str) else argument
    return flat


def sluice(*arguments: str | list[str]) -> list[str]:
    return tool("sluice", *arguments)


# In this order, with {out} the fixtures' folder.
PREPARE = [
    sluice("compile", JUMPER, QUICK, "-o", "{out}/jumper"),
    sluice("compile", JUMPER, QUICK, "--machine", "emulated:2", "--devices", "2", "-o", "{out}/ranks"),
    sluice("compile", BERT, QUICK, "--machine", "emulated", "--memory", "accel0=0%", "-o", "{out}/limited"),
    sluice("compile", "{fixtures}/states.onnxtxt", "--state", "total=next", QUICK, "-o", "{out}/states"),
    sluice("compile", JUMPER, QUICK, "--train", "loss=mse,of=output", "-o", "{out}/step"),
    sluice("run", "{out}/step", "--threads", "1", "--steps", "2", "--output-dir", "{out}/trained"),
    sluice("compile", JUMPER, "--compile-to", "import", "-o", "{out}/import.mlir"),
    sluice("plan", JUMPER, QUICK, EMULATED, "-o", "{out}/small.json", "--dump-problem", "{out}/problem.json"),
    sluice("plan", JUMPER, QUICK, "--machine", "emulated", "-o", "{out}/large.json"),
    sluice("run", "{models}/jumperhard/model.onnx", "--expect", "{models}/jumperhard/test_data_set_0", QUICK,
           "--keep", "{out}/kept"),
]

KEEP = sluice("run", "{fixtures}/step", "--threads", "1", "--keep-every", "2", "--output-dir", "{out}/results", "--steps")
REDUCE = tool("sluice-reduce", "{models}/jumperhard/model.onnx", "--test", "test -s {}", "-o", "{out}/small.onnx")

COMMANDS = [
    Command("info", sluice("info", "{models}/jumperhard/model.onnx")),
    Command("info-compiled", sluice("info", "{fixtures}/jumper", "--format=json")),
    Command("machine", sluice("machine", "emulated", "--format=json")),
    Command("plan", sluice("plan", JUMPER, QUICK, "-o", "{out}/plan.json", "--dump-problem", "{out}/problem.json")),
    Command("plan-limited", sluice("plan", BERT, QUICK, EMULATED, "-o", "{out}/plan.json")),
    Command("plan-diff", sluice("plan", "--diff", "{fixtures}/large.json", "{fixtures}/small.json")),
    Command("plan-explain", sluice("plan", "{fixtures}/small.json", "--explain", "Gemm_9")),
    Command("compile", sluice("compile", JUMPER, QUICK, "-o", "{out}/model")),
    Command("compile-object", sluice("compile", JUMPER, QUICK, "--emit", "object", "-o", "{out}/model")),
    Command("compile-static", sluice("compile", JUMPER, QUICK, "--emit", "static", "-o", "{out}/model")),
    Command("compile-executable", sluice("compile", JUMPER, QUICK, "--emit", "executable", "-o", "{out}/model")),
    Command("compile-freestanding", sluice("compile", JUMPER, QUICK, "--runtime", "none", "-o", "{out}/model")),
    Command("compile-oci", sluice("compile", JUMPER, QUICK, "--emit", "oci", "-o", "{out}/model")),
    Command("compile-wasm", sluice("compile", JUMPER, QUICK, "--target", "cpu:wasm32+simd128", "--emit", "wasm",
                                   "-o", "{out}/model")),
    Command("compile-to", sluice("compile", JUMPER, QUICK, "--compile-to", "import", "-o", "{out}/import.mlirbc")),
    Command("compile-ranks", sluice("compile", JUMPER, QUICK, "--machine", "emulated:2", "--devices", "2",
                                    "-o", "{out}/model")),
    Command("run", sluice("run", "{fixtures}/jumper", "--threads", "1", "--output-dir", "{out}/results")),
    Command("run-spill", sluice("run", "{fixtures}/limited", "--threads", "1", "--spill", "{out}",
                                "--output-dir", "{out}/results")),
    Command("run-ranks", sluice("run", "{fixtures}/ranks", "--threads", "1", "--output-dir", "{out}/results")),
    Command("run-states", [*KEEP, "4"], earlier=(*KEEP, "2")),
    Command("run-from-states", sluice("run", "{fixtures}/step", "--threads", "1", "--from-states",
                                      "{fixtures}/trained/states", "--steps", "3", "--output-dir", "{out}/results")),
    Command("run-model", sluice("run", JUMPER, QUICK, "--output-dir", "{out}/results", "--trace", "{out}/trace.json")),
    Command("run-keep", sluice("run", JUMPER, QUICK, "--expect", "{models}/jumperhard/test_data_set_0",
                               "--keep", "{out}/kept")),
    Command("runner", tool("sluice-runner", "run", "{fixtures}/kept")),
    Command("generate", sluice("generate", "{fixtures}/states", "--tokens", "1,2", "--max-new", "3")),
    Command("export", sluice("export", JUMPER, "-o", "{out}/model.onnx")),
    Command("export-external", sluice("export", "{models}/mnist_external/model.onnx", "--external-data",
                                      "-o", "{out}/model.onnx")),
    Command("export-compiled", sluice("export", "{fixtures}/jumper", "-o", "{out}/model.onnx")),
    Command("report", sluice("report", "{fixtures}/small.json", "-o", "{out}/report.html")),
    Command("report-against", sluice("report", "{fixtures}/large.json", "--against", "{fixtures}/small.json",
                                     "-o", "{out}/report.html")),
    Command("compose", sluice("compose", "{out}/pipeline.json", "-o", "{out}/composed.onnx"),
            ("pipeline.json", "scale.onnxtxt")),
    Command("fit", sluice("fit", JUMPER, "--threads", "1")),
    Command("profile", sluice("profile", JUMPER, QUICK, "--repeat", "1", "-o", "{out}/profile.json")),
    Command("tune", sluice("tune", "{models}/jumperhard/model.onnx", "--dim", "batch_size=1", "--repeat", "1",
                           "--rounds", "1", "--only", "kernels", "-o", "{out}/tuning.json"),
            readers=(("tuning.json", sluice("plan", JUMPER, QUICK, "--tuning", "{out}/tuning.json")),)),
    Command("solve-memory", tool("sluice-solve", "memory", "{fixtures}/buffers.csv", "-o", "{out}/solved.csv")),
    Command("solve-placement", tool("sluice-solve", "placement", "{fixtures}/problem.json", "-o", "{out}/placed.json")),
    Command("solve-swap", tool("sluice-solve", "swap", "{fixtures}/problem.json", "--evals", "4", "--memory", "100%",
                               "-o", "{out}/plan.json")),
    Command("solve-pipeline", tool("sluice-solve", "pipeline", "--groups", "2", "--microbatches", "4")),
    Command("solve-check", tool("sluice-solve", "check", "{fixtures}/small.json")),
    Command("opt", tool("sluice-opt", "--dataflow-simplify", "{fixtures}/import.mlir", "-o", "{out}/simple.mlir")),
    Command("translate", tool("sluice-translate", "--import-onnx", "{models}/jumperhard/model.onnx", "--dim", "batch_size=1",
                              "-o", "{out}/import.mlir")),
    Command("bench-operators", tool("sluice-bench", "operators")),
    Command("reduce", [*REDUCE, "--max-tests", "2"], earlier=(*REDUCE, "--max-tests", "1")),
]

# A text is generated with a state, and by any model whose output is named logits.
STATES = """<ir_version: 8, opset_import: ["" : 13]>
sum (int64[1,1] tokens, float[1] total) => (float[1,1,8] logits, float[1] next)
<float[1,1,8] weights = {0, 1, 2, 3, 2, 1, 0, 1}, int64[1] one = {1}> {
  number = Cast <to = 1> (tokens)
  flat = Reshape (number, one)
  next = Add (total, flat)
  products = Mul (weights, next)
  logits = Sin (products)
}
"""
BUFFERS = "id,lower,upper,size\nb1,0,4,4\nb2,3,9,5\nb3,5,9,4\n"
SCALE = """<ir_version: 8, opset_import: ["" : 13]>
scale (float[2,3] x) => (float[2,3] y) <float[1] two = {2}> { y = Mul (x, two) }
"""
PIPELINE = {
    "schema": 1,
    "name": "two",
    "services": [
        {"id": "first", "model": "scale.onnxtxt"},
        {"id": "second", "graph": ["(float[B, 3] x) => (float[B, 3] z)", "{ z = Neg(x) }"]},
    ],
    "links": [{"from": "first.y", "to": "second.x"}],
    "inputs": {"x": ["first.x"]},
    "outputs": {"z": "second.z"},
}


def write_sources(folder: pathlib.Path) -> None:
    """The fixtures that no tool of Sluice makes."""
    (folder / "states.onnxtxt").write_text(STATES)
    (folder / "buffers.csv").write_text(BUFFERS)
    (folder / "scale.onnxtxt").write_text(SCALE)
    (folder / "pipeline.json").write_text(json.dumps(PIPELINE))
