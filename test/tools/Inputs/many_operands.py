"""Prints a concatenation of so many tensors, each of which another operator reads too."""

import sys

count = int(sys.argv[1])
tensor, whole = "tensor<8x8x8x8xf32>", f"tensor<8x{8 * count}x8x8xf32>"
names, others = [f"%a{i}" for i in range(count)], [f"%r{i}" for i in range(count)]
types = ", ".join([tensor] * count)
results = f"{whole}, {types}"
print(f"func.func @main({', '.join(f'{name}: {tensor}' for name in names)}) -> ({results}) {{")
print(f"  %c = dataflow.concat {', '.join(names)} {{axis = 1 : i64}} : {types} -> {whole}")
for other, name in zip(others, names):
    print(f"  {other} = dataflow.unary tanh {name} : {tensor}")
print(f"  return {', '.join(['%c'] + others)} : {results}\n}}")
