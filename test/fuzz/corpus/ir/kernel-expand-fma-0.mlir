// options: 5
func.func @wide(%x: f64, %y: f64, %z: f64) -> f64 {
  %0 = math.fma %x, %y, %z : f64
  return %0 : f64
}
