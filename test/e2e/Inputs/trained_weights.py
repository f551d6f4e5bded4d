"""For trained-weights.test: writes the data, runs the two programs of the training guide, and compares losses."""
import json
import re
import sys

import numpy as np


def losses(path):
    return np.float32(json.load(open(path, encoding="utf-8"))["series"]["loss"])


if sys.argv[1] == "data":
    numbers = np.random.default_rng(1)
    np.save("input.npy", numbers.random((1, 1, 28, 28), np.float32))
    np.save("target.npy", numbers.random((1, 10), np.float32))
elif sys.argv[1] == "run":
    import sluice

    programs = re.findall(r"^```python\n(.*?)^```$", open(sys.argv[2], encoding="utf-8").read(), re.S | re.M)
    names = {"sluice": sluice}
    for program in programs:
        exec(program, names)  # pylint: disable=exec-used
    data = {name: np.load(f"{name}.npy") for name in ("input", "target")}
    steps = [names["session"].run(data)["loss"] for _ in range(2)]
    # The fifth loss depends on the velocities too, which are optimizer states.
    assert (np.float32(steps) == losses("five.json")[3:]).all(), (steps, losses("five.json"))
else:
    assert losses("next.json")[0] == losses("five.json")[3], (losses("next.json"), losses("five.json"))
