// func.func: 7
// func.func: 127
func.func @func.func(%x: tensor<4611686018427387904x0xf32>) {
  return
}
