// options: 6
func.func @attention(%q: tensor<2x3x5x8xf32>, %k: tensor<2x1x7x8xf32>, %t: tensor<2x3x8x7xf32>, %v: tensor<1x3x7x4xf32>, %m: tensor<5x1xf32>) {
  %0 = dataflow.attention %q, %k, %v : (tensor<2x3x5x8xf32>, tensor<2x1x7x8xf32>, tensor<1x3x7x4xf32>) -> tensor<2x3x5x4xf32>
  %1 = dataflow.attention %q, %t transposed, %v mask %m {divides, scale = 8.0 : f32} : (tensor<2x3x5x8xf32>, tensor<2x3x8x7xf32>, tensor<1x3x7x4xf32>, tensor<5x1xf32>) -> tensor<2x3x5x4xf32>
  return
}
