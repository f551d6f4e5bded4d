#!/usr/bin/env python3
"""Runs models in another runtime, for `sluice-bench models --against`.

  rival.py onnxruntime|openvino

Each line of standard input is a request in JSON, each line of standard output its answer, which has "error" where it failed:

  {"open": "model.onnx", "inputs": {"x": "x.npy"}, "threads": 2}  ->  {}
  {"run": 10}                                                     ->  {"seconds": of ten steps together}
  {"outputs": "y"}                                                ->  {"files": ["y0.npy", "y1.npy"]}, of one step
"""

import json
import sys
import time


class OnnxRuntime:
    """Inputs and outputs are bound once, so that a step copies nothing and allocates nothing."""

    def __init__(self):
        import onnxruntime

        self.package = onnxruntime
        self.version = onnxruntime.__version__

    def open(self, path, inputs, threads):
        options = self.package.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 4
        self.session = self.package.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.binding = self.session.io_binding()
        for port in self.session.get_inputs():
            if port.name in inputs:
                self.binding.bind_cpu_input(port.name, inputs[port.name])
        for port in self.session.get_outputs():
            self.binding.bind_output(port.name)

    def run(self):
        self.session.run_with_iobinding(self.binding)

    def outputs(self):
        self.run()
        return self.binding.copy_outputs_to_cpu()


class OpenVino:
    """Computes in f32 where the model does; its own choice may be bf16."""

    def __init__(self):
        import openvino

        self.package = openvino
        self.version = openvino.__version__

    def open(self, path, inputs, threads):
        settings = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"}
        core = self.package.Core()
        model = core.read_model(path)
        shapes = {port: list(inputs[name].shape) for port in model.inputs for name in port.get_names() if name in inputs}
        if any(port.partial_shape.is_dynamic for port in shapes):
            model.reshape(shapes)
        self.request = core.compile_model(model, "CPU", settings).create_infer_request()
        for port in self.request.model_inputs:
            for name in port.get_names():
                if name in inputs:
                    self.request.set_tensor(port, self.package.Tensor(inputs[name], shared_memory=True))

    def run(self):
        self.request.infer()

    def outputs(self):
        self.run()
        return [tensor.data for tensor in self.request.output_tensors]


RIVALS = {"onnxruntime": OnnxRuntime, "openvino": OpenVino}


def answer(rival, request):
    if "open" in request:
        import numpy

        inputs = {name: numpy.asarray(numpy.load(path), order="C") for name, path in request["inputs"].items()}
        rival.open(request["open"], inputs, request["threads"])
        return {}
    if "outputs" in request:
        import numpy

        files = []
        for number, array in enumerate(rival.outputs()):
            files.append(f"{request['outputs']}{number}.npy")
            numpy.save(files[-1], array)
        return {"files": files}
    begin = time.perf_counter()
    for _ in range(request["run"]):
        rival.run()
    return {"seconds": time.perf_counter() - begin}


def main():
    def say(value):
        print(json.dumps(value), flush=True)

    try:
        import numpy  # noqa: F401, what every request needs

        rival = RIVALS[sys.argv[1]]()
    except ImportError as error:
        return say({"missing": str(error)})
    say({"version": rival.version})
    for line in sys.stdin:
        try:
            say(answer(rival, json.loads(line)))
        except Exception as error:  # A model that it cannot run is a row of the table.
            lines = str(error).strip().splitlines() or [type(error).__name__]
            say({"error": lines[-1][:200]})


if __name__ == "__main__":
    main()
