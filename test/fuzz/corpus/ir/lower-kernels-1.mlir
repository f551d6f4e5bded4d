// passes: lower-kernels
func.func @math(%x: vector<16xf32>, %y: f32) -> (vector<16xf32>, f32) {
  %e = math.exp %x : vector<16xf32>
  %s = math.asinh %y : f32
  return %e, %s : vector<16xf32>, f32
}
