// options: 7
#target = #exec.target<name = "x86-64-v2", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64-v2", features = "", tune = "generic",
                       required = "", vector_bits = 128, registers = 16, architectures = []>
module attributes {exec.target = #target} {
  func.func @without_fma(%x: f32) -> i8 {
    %s = arith.constant 3.0e-2 : f32
    %q = arith.divf %x, %s : f32
    %r = math.roundeven %q : f32
    %i = arith.fptosi %r : f32 to i8
    return %i : i8
  }
}
