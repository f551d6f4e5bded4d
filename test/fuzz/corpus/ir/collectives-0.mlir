// options: 0
func.func @messages(%x: tensor<8x6xf32>) -> tensor<2xi64> {
  %sent = dataflow.send %x to 1 : tensor<8x6xf32>
  %received = dataflow.receive from 0 : tensor<8x6xf32>
  %y = dataflow.receive from 2 : tensor<2xi64>
  return %y : tensor<2xi64>
}
