#!/usr/bin/env python3
"""Makes plans of models of the folder shared/models, for written_plans_test.py.

  shared_plans.py SLUICE MODELS FOLDER [--models N] [--search-evals 10]

Each model is planned at 60 and 25 % of the way from the minimum to the peak of an emulated accelerator, for inference and,
where its operators have gradients, as a training step; with all memory of the process limited, so that weights stream from
the disk; and with operators split over two accelerators. Some have ranges of sizes. Models are also compiled for two ranks,
whose program has a plan of its own. Prints a line for each kind of plan: how many were made, and for how many models there
is none, with the reasons.
"""

import argparse
import collections
import os
import subprocess
import sys

# Per model: what binds its dimensions, the output that it is trained by, and, where it has one, a range of sizes.
MODELS = {
    "tribuo_tinybert": (["--dim", "batch=1", "--dim", "sequence=64"], None, ["--dim", "batch=1", "--dim", "sequence=1..64"]),
    "rten_mnist_external": ([], "loss=softmax-cross-entropy", None),
    "hyperlpr_cls": ([], "loss=softmax-cross-entropy", None),
    "fastestdet": ([], None, None),
    "super_resolution_subpixel": (["--dim", "batch_size=1"], "loss=mse", ["--dim", "batch_size=1..4"]),
    "oww_embedding": (["--dim", "unk__314=16"], "loss=mse", ["--dim", "unk__314=4,16"]),
    "ppocrv2_cls": ([option for dim, size in enumerate((1, 48, 192)) for option in ("--dim", f"p2o.DynamicDimension.{dim}={size}")],
                    "loss=softmax-cross-entropy", None),
    "vittrack": ([], "loss=mse,of=output1", None),
    "ultraface_rfb320": ([], "loss=mse,of=scores", None),
    "dtln_1": ([], "loss=mse,of=activation_2", None),
    "rand_squeezenet": ([], "loss=softmax-cross-entropy", None),
    "yolox_nano": ([], "loss=mse", None),
}


def kinds(model):
    """Names of plans of a model, each with the command that makes it and its options."""
    dims, loss, sizes = MODELS[model]
    for share in (60, 25):
        yield f"inference {share} %", "plan", [*dims, "--machine", "emulated", "--memory", f"{share}%"]
        if loss:
            yield f"training {share} %", "plan", [*dims, "--machine", "emulated", "--train", loss, "--memory", f"{share}%"]
        yield f"streaming {share} %", "plan", [*dims, "--memory", f"{share}%"]
    yield "split", "plan", [*dims, "--machine", "emulated:2", "--least-gain", "0", "--split-operators", "--memory", "60%"]
    yield "ranks", "compile", [*dims, "--machine", "emulated:2", "--devices", "2"]
    if sizes:
        yield "ranges", "plan", [*sizes, "--machine", "emulated", "--memory", "60%"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sluice")
    parser.add_argument("models")
    parser.add_argument("folder")
    parser.add_argument("--models", dest="count", type=int, default=len(MODELS), help="the first of them alone")
    parser.add_argument("--search-evals", default="10")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    made, refused = collections.Counter(), collections.defaultdict(list)
    for model in list(MODELS)[:options.count]:
        for kind, command, arguments in kinds(model):
            path = os.path.join(options.folder, f"{model}-{kind}".replace(" ", "-").replace("%", "percent"))
            done = subprocess.run([options.sluice, command, os.path.join(options.models, model, "model.onnx"), *arguments,
                                   "-o", path + (".json" if command == "plan" else ""),
                                   "--search-evals", options.search_evals, "--threads", "1"], capture_output=True, text=True, check=False)
            if done.returncode == 0:
                made[kind] += 1
            elif done.returncode == 1 and done.stderr.startswith("error: "):
                refused[kind].append(f"{model}: {done.stderr.strip()[7:200]}")
            else:
                sys.exit(f"error: {model}, {kind}: ended with {done.returncode}: {done.stderr}")
    for kind in dict.fromkeys([*made, *refused]):
        print(f"{kind}: {made[kind]} plans, {len(refused[kind])} models have none")
        for reason in refused[kind]:
            print(f"  {reason}")


if __name__ == "__main__":
    main()
