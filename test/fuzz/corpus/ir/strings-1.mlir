// options: 0
func.func @words(%x: tensor<3x!dataflow.string>, %i: tensor<2xi64>) -> (tensor<4x!dataflow.string>, tensor<i64>, tensor<2xi1>) {
  %c = dataflow.string_constant ["a", "\C3\A9"] : tensor<2x!dataflow.string>
  %g = dataflow.gather %x, %i {axis = 0 : i64} : tensor<3x!dataflow.string>, tensor<2xi64> -> tensor<2x!dataflow.string>
  %j = dataflow.string_concat %c, %g : tensor<2x!dataflow.string>
  %e = dataflow.string_equal %c, %j : tensor<2x!dataflow.string> -> tensor<2xi1>
  %f = dataflow.string_find %j in ["x", "y"] : tensor<2x!dataflow.string> -> tensor<2xi64>
  %all = dataflow.concat %c, %j {axis = 0 : i64} : tensor<2x!dataflow.string>, tensor<2x!dataflow.string> -> tensor<4x!dataflow.string>
  %k, %n = dataflow.string_normalize lower %all without ["the"] {case_sensitive} : (tensor<4x!dataflow.string>) -> (tensor<4x!dataflow.string>, tensor<i64>)
  %p, %counts, %most = dataflow.string_split %k at "," : (tensor<4x!dataflow.string>) -> (tensor<4x2x!dataflow.string>, tensor<4xi64>, tensor<i64>)
  return %k, %n, %e : tensor<4x!dataflow.string>, tensor<i64>, tensor<2xi1>
}
