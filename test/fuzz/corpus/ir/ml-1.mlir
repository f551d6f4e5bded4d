// options: 1
func.func @trees(%x: tensor<5x2xf32>, %nodes: tensor<2x3xi32>, %t: tensor<2xf32>, %roots: tensor<1xi32>,
                 %leaves: tensor<4xi32>, %targets: tensor<3xi32>, %w: tensor<3xf32>, %tests: tensor<2xui8>)
    -> (tensor<5x1xf32>, tensor<5x4xf32>) {
  %a = dataflow.tree_ensemble sum %x nodes %nodes, %t roots %roots leaves %leaves, %targets, %w {test = 5 : i64}
    : (tensor<5x2xf32>, tensor<2x3xi32>, tensor<2xf32>, tensor<1xi32>, tensor<4xi32>, tensor<3xi32>, tensor<3xf32>) -> tensor<5x1xf32>
  %b = dataflow.tree_ensemble max %x nodes %nodes, %t roots %roots leaves %leaves, %targets, %w tests %tests
    : (tensor<5x2xf32>, tensor<2x3xi32>, tensor<2xf32>, tensor<1xi32>, tensor<4xi32>, tensor<3xi32>, tensor<3xf32>, tensor<2xui8>) -> tensor<5x4xf32>
  return %a, %b : tensor<5x1xf32>, tensor<5x4xf32>
}
