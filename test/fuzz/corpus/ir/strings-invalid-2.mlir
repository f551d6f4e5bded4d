// options: 6
func.func @matrix(%x: tensor<1x2x!dataflow.string>) {
  %y, %n = dataflow.string_normalize unchanged %x without [] : (tensor<1x2x!dataflow.string>) -> (tensor<2x!dataflow.string>, tensor<i64>)
  return
}
