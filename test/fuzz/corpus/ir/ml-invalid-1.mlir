// options: 6
func.func @tests(%x: tensor<5x2xf32>, %n: tensor<2x3xi32>, %t: tensor<2xf32>, %r: tensor<1xi32>, %l: tensor<4xi32>, %g: tensor<3xi32>, %w: tensor<3xf32>, %tests: tensor<3xui8>) {
  %y = dataflow.tree_ensemble sum %x nodes %n, %t roots %r leaves %l, %g, %w tests %tests
    : (tensor<5x2xf32>, tensor<2x3xi32>, tensor<2xf32>, tensor<1xi32>, tensor<4xi32>, tensor<3xi32>, tensor<3xf32>, tensor<3xui8>) -> tensor<5x1xf32>
  return
}
