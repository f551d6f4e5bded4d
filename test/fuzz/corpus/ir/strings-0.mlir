// options: 7
func.func @numbers(%x: tensor<3x!dataflow.string>, %bytes: tensor<9xui8>) -> (tensor<3x!dataflow.string>, tensor<3xi1>, tensor<3x2x!dataflow.string>, tensor<4x4x3xui8>) {
  %n = dataflow.string_to_number %x : tensor<3x!dataflow.string> -> tensor<3xf32>
  %t = dataflow.string_from_number %n : tensor<3xf32> -> tensor<3x!dataflow.string>
  %m = dataflow.string_match %x by "[a-z]+" : tensor<3x!dataflow.string> -> tensor<3xi1>
  %c = dataflow.check %m or "not a word" : tensor<3xi1>
  %p, %counts, %most = dataflow.string_split %x at "," {whole} : (tensor<3x!dataflow.string>) -> (tensor<3x2x!dataflow.string>, tensor<3xi64>, tensor<i64>)
  %i = dataflow.decode_image bgr %bytes : tensor<9xui8> -> tensor<4x4x3xui8>
  return %t, %c, %p, %i : tensor<3x!dataflow.string>, tensor<3xi1>, tensor<3x2x!dataflow.string>, tensor<4x4x3xui8>
}
