// options: 6
func.func @choice(%c: tensor<3xi1>, %x: tensor<3xi32>, %y: tensor<3xf32>) {
  %0 = dataflow.select %c, %x, %y : tensor<3xi1>, tensor<3xi32>, tensor<3xf32>
  return
}
