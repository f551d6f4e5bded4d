// passes: dataflow-train loss=softmax-cross-entropy
func.func @no_gradient_of_a_mode(%x: tensor<2x3xf32>) -> (tensor<2x5xf32> {dataflow.name = "y"}) {
  %w = dataflow.state "w" trainable dense<0.5> : tensor<3xf32>
  %0 = dataflow.binary mul %x, %w : tensor<2x3xf32>, tensor<3xf32>
  %zero = dataflow.constant dense<0.0> : tensor<f32>
  %1 = dataflow.pad reflect %0, %zero low [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x5xf32>
  return %1 : tensor<2x5xf32>
}
