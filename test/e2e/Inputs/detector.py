"""A small detector: its model, and what it detects, computed with Python's standard library alone.

Usage: detector.py model FILE                       writes the model in ONNX's textual form
       detector.py check SLUICE ARTIFACT SIZE... [-- OPTION...]
                                                    runs the artifact on an image of each size HEIGHTxWIDTH, with
                                                    limits and thresholds that differ from size to size, and prints
                                                    "SIZE: N detections equal"
"""

import array
import ast
import math
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

CHANNELS, CLASSES = (3, 6, 8), 2
LAYERS = [("1", CHANNELS[0], CHANNELS[1], 3, 2), ("2", CHANNELS[1], CHANNELS[2], 3, 2), ("3", CHANNELS[2], 4 + CLASSES, 1, 1)]

MODEL = """<ir_version: 8, opset_import: ["" : 17]>
detector (float[1,3,height,width] image, int64[1] most, float[1] overlap, float[1] least)
  => (float[n,4] boxes, int64[n] classes, float[n] scores)
<%s,
 int64 zero = {0}, int64 one = {1}, int64 two = {2}, int64 three = {3},
 int64[1] at0 = {0}, int64[1] at1 = {1}, int64[1] at3 = {3}, int64[1] at4 = {4}, int64[1] at6 = {6},
 int64[4] asColumn = {1, 1, -1, 1}, int64[4] asRow = {1, 1, 1, -1}, int64[3] asBoxes = {1, 4, -1}, int64[3] asScores = {1, 2, -1},
 float half = {0.5}, float stride = {4}, float size = {9}>
{
  c1 = Conv <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (image, w1, b1)
  f1 = Relu(c1)
  c2 = Conv <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (f1, w2, b2)
  f2 = Relu(c2)
  head = Conv <kernel_shape = [1, 1]> (f2, w3, b3)
  shape = Shape(f2)
  rows = Gather(shape, two)
  columns = Gather(shape, three)
  i = Range(zero, rows, one)
  fi = Cast <to = 1> (i)
  hi = Add(fi, half)
  si = Mul(hi, stride)
  y0 = Reshape(si, asColumn)
  k = Range(zero, columns, one)
  fk = Cast <to = 1> (k)
  hk = Add(fk, half)
  sk = Mul(hk, stride)
  x0 = Reshape(sk, asRow)
  deltas = Slice(head, at0, at4, at1)
  limited = Tanh(deltas)
  dy, dx, dh, dw = Split <axis = 1> (limited)
  my = Mul(dy, stride)
  mx = Mul(dx, stride)
  cy = Add(y0, my)
  cx = Add(x0, mx)
  eh = Exp(dh)
  ew = Exp(dw)
  rh = Mul(eh, size)
  rw = Mul(ew, size)
  top = Sub(cy, rh)
  left = Sub(cx, rw)
  bottom = Add(cy, rh)
  right = Add(cx, rw)
  corners = Concat <axis = 1> (top, left, bottom, right)
  lists = Reshape(corners, asBoxes)
  all = Transpose <perm = [0, 2, 1]> (lists)
  logits = Slice(head, at4, at6, at1)
  chances = Sigmoid(logits)
  likely = Reshape(chances, asScores)
  selected = NonMaxSuppression(all, likely, most, overlap, least)
  places = Gather <axis = 1> (selected, two)
  classes = Gather <axis = 1> (selected, one)
  flat = Squeeze(all, at0)
  boxes = Gather(flat, places)
  pairs = Slice(selected, at1, at3, at1)
  table = Squeeze(likely, at0)
  scores = GatherND(table, pairs)
}
"""


def weights():
    """name -> (extents, values): the same in the model and here."""
    numbers = random.Random(7)
    result = {}
    for name, inputs, outputs, taps, _ in LAYERS:
        scale = 1.6 / math.sqrt(inputs * taps * taps)
        count = outputs * inputs * taps * taps
        result["w" + name] = ([outputs, inputs, taps, taps], [round(numbers.gauss(0, scale), 4) for _ in range(count)])
        result["b" + name] = ([outputs], [round(numbers.gauss(0, 0.2), 4) for _ in range(outputs)])
    return result


def convolve(x, layer):
    """[channels][rows][columns], with a border of zeros around as wide as half a kernel."""
    name, inputs, outputs, taps, stride = layer
    w, b = weights()["w" + name][1], weights()["b" + name][1]
    height, width, border = len(x[0]), len(x[0][0]), taps // 2
    result = []
    for o in range(outputs):
        plane = []
        for i in range((height + 2 * border - taps) // stride + 1):
            row = []
            for k in range((width + 2 * border - taps) // stride + 1):
                total = b[o]
                for c in range(inputs):
                    for u in range(taps):
                        y = i * stride + u - border
                        for v in range(taps):
                            z = k * stride + v - border
                            if 0 <= y < height and 0 <= z < width:
                                total += w[((o * inputs + c) * taps + u) * taps + v] * x[c][y][z]
                row.append(total)
            plane.append(row)
        result.append(plane)
    return result


def overlap(a, b):
    sides = [max(0.0, min(a[2 + d], b[2 + d]) - max(a[d], b[d])) for d in (0, 1)]
    area = lambda box: (box[2] - box[0]) * (box[3] - box[1])
    shared = sides[0] * sides[1]
    return shared / (area(a) + area(b) - shared)


def detect(image, most, most_overlap, least):
    """(class, score, box), by class and falling score."""
    relu = lambda x: [[[max(0.0, value) for value in row] for row in plane] for plane in x]
    head = convolve(relu(convolve(relu(convolve(image, LAYERS[0])), LAYERS[1])), LAYERS[2])
    boxes, chances = [], [[] for _ in range(CLASSES)]
    for i in range(len(head[0])):
        for k in range(len(head[0][0])):
            dy, dx, dh, dw = (math.tanh(head[c][i][k]) for c in range(4))
            y, x = (i + 0.5) * 4 + 4 * dy, (k + 0.5) * 4 + 4 * dx
            h, w = 9 * math.exp(dh), 9 * math.exp(dw)
            boxes.append((y - h, x - w, y + h, x + w))
            for c in range(CLASSES):
                chances[c].append(1 / (1 + math.exp(-head[4 + c][i][k])))
    found = []
    for c in range(CLASSES):
        kept = []
        for n in sorted(range(len(boxes)), key=lambda n: -chances[c][n]):
            if len(kept) < most and chances[c][n] > least and all(overlap(boxes[n], boxes[m]) <= most_overlap for m in kept):
                kept.append(n)
        found += [(c, chances[c][n], boxes[n]) for n in kept]
    return found


def write_npy(path, kind, shape, values):
    code, letter = {"float": ("<f4", "f"), "int64": ("<i8", "q")}[kind]
    header = f"{{'descr': '{code}', 'fortran_order': False, 'shape': ({''.join(f'{n},' for n in shape)}), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + array.array(letter, values).tobytes())


def read_npy(path):
    data = path.read_bytes()
    length = struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10 : 10 + length].decode())
    values = array.array({"<f4": "f", "<i8": "q"}[header["descr"]])
    values.frombytes(data[10 + length :])
    return header["shape"], list(values)


def check(sluice, artifact, size, options):
    height, width = map(int, size.split("x"))
    numbers = random.Random(height * 1000 + width)
    # Values that f32 holds, so that both see the same image.
    pixels = [numbers.randrange(-256, 256) / 512 for _ in range(3 * height * width)]
    most, most_overlap, least = numbers.randrange(4, 13), numbers.randrange(1, 4) / 8, numbers.randrange(16, 22) / 32
    image = [[pixels[(c * height + y) * width : (c * height + y + 1) * width] for y in range(height)] for c in range(3)]
    wanted = detect(image, most, most_overlap, least)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        given = {"image": ("float", [1, 3, height, width], pixels), "most": ("int64", [1], [most]),
                 "overlap": ("float", [1], [most_overlap]), "least": ("float", [1], [least])}
        inputs = []
        for key, value in given.items():
            write_npy(folder / f"{key}.npy", *value)
            inputs += ["--input", f"{key}={folder / key}.npy"]
        subprocess.run([sluice, "run", artifact, *inputs, *options, "--output-dir", str(folder / "out")], check=True,
                       stdout=subprocess.DEVNULL)
        shape, boxes = read_npy(folder / "out" / "boxes.npy")
        classes = read_npy(folder / "out" / "classes.npy")[1]
        scores = read_npy(folder / "out" / "scores.npy")[1]
    if shape != (len(wanted), 4) or classes != [c for c, _, _ in wanted]:
        sys.exit(f"{size}: boxes of shape {shape} and of classes {classes}, not {[c for c, _, _ in wanted]}")
    for k, (_, score, box) in enumerate(wanted):
        if abs(scores[k] - score) > 1e-4 or any(abs(a - b) > 1e-2 for a, b in zip(boxes[4 * k : 4 * k + 4], box)):
            sys.exit(f"{size}: detection {k} is {scores[k]} {boxes[4 * k : 4 * k + 4]}, not {score} {box}")
    print(f"{size}: {len(wanted)} detections equal")


def main():
    if sys.argv[1] == "model":
        initializers = [f" float[{','.join(map(str, extents))}] {name} = {{{', '.join(map(str, values))}}}"
                        for name, (extents, values) in weights().items()]
        pathlib.Path(sys.argv[2]).write_text(MODEL % ",\n".join(initializers))
        return
    sluice, artifact = sys.argv[2:4]
    options = sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else []
    for size in sys.argv[4 : len(sys.argv) - len(options) - (1 if options else 0)]:
        check(sluice, artifact, size, options)


main()
