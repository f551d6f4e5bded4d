// options: 7
#target = #exec.target<name = "x86-64-v3", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64-v3", features = "", tune = "generic", required = "x86-64-v3", vector_bits = 256, registers = 0, architectures = [80, 90]>
