// options: 6
func.func @vectors(%x: vector<8xf32>, %y: vector<8xf32>, %z: vector<8xf32>) -> vector<8xf32> {
  %0 = math.fma %x, %y, %z : vector<8xf32>
  return %0 : vector<8xf32>
}
