// RUN: sluice-opt %s | sluice-opt | FileCheck %s

// Text moves as other elements do.
// CHECK-LABEL: func.func @words
func.func @words(%x: tensor<3x!dataflow.string>, %i: tensor<2xi64>) -> (tensor<4x!dataflow.string>, tensor<i64>, tensor<2xi1>) {
  // CHECK: dataflow.string_constant ["a", "\C3\A9"] : tensor<2x!dataflow.string>
  %c = dataflow.string_constant ["a", "\C3\A9"] : tensor<2x!dataflow.string>
  // CHECK: dataflow.gather
  %g = dataflow.gather %x, %i {axis = 0 : i64} : tensor<3x!dataflow.string>, tensor<2xi64> -> tensor<2x!dataflow.string>
  // CHECK: dataflow.string_concat %{{.*}}, %{{.*}} : tensor<2x!dataflow.string>
  %j = dataflow.string_concat %c, %g : tensor<2x!dataflow.string>
  // CHECK: dataflow.string_equal %{{.*}}, %{{.*}} : tensor<2x!dataflow.string> -> tensor<2xi1>
  %e = dataflow.string_equal %c, %j : tensor<2x!dataflow.string> -> tensor<2xi1>
  // CHECK: dataflow.string_find %{{.*}} in ["x", "y"] : tensor<2x!dataflow.string> -> tensor<2xi64>
  %f = dataflow.string_find %j in ["x", "y"] : tensor<2x!dataflow.string> -> tensor<2xi64>
  %all = dataflow.concat %c, %j {axis = 0 : i64} : tensor<2x!dataflow.string>, tensor<2x!dataflow.string> -> tensor<4x!dataflow.string>
  // CHECK: dataflow.string_normalize lower %{{.*}} without ["the"] {case_sensitive} : (tensor<4x!dataflow.string>) -> (tensor<4x!dataflow.string>, tensor<i64>)
  %k, %n = dataflow.string_normalize lower %all without ["the"] {case_sensitive} : (tensor<4x!dataflow.string>) -> (tensor<4x!dataflow.string>, tensor<i64>)
  // CHECK: dataflow.string_split %{{.*}} at "," : (tensor<4x!dataflow.string>) -> (tensor<4x2x!dataflow.string>, tensor<4xi64>, tensor<i64>)
  %p, %counts, %most = dataflow.string_split %k at "," : (tensor<4x!dataflow.string>) -> (tensor<4x2x!dataflow.string>, tensor<4xi64>, tensor<i64>)
  return %k, %n, %e : tensor<4x!dataflow.string>, tensor<i64>, tensor<2xi1>
}

// CHECK-LABEL: func.func @numbers
func.func @numbers(%x: tensor<3x!dataflow.string>, %bytes: tensor<9xui8>) -> (tensor<3x!dataflow.string>, tensor<3xi1>, tensor<3x2x!dataflow.string>, tensor<4x4x3xui8>) {
  // CHECK: dataflow.string_to_number %{{.*}} : tensor<3x!dataflow.string> -> tensor<3xf32>
  %n = dataflow.string_to_number %x : tensor<3x!dataflow.string> -> tensor<3xf32>
  // CHECK: dataflow.string_from_number %{{.*}} : tensor<3xf32> -> tensor<3x!dataflow.string>
  %t = dataflow.string_from_number %n : tensor<3xf32> -> tensor<3x!dataflow.string>
  // CHECK: dataflow.string_match %{{.*}} by "[a-z]+" : tensor<3x!dataflow.string> -> tensor<3xi1>
  %m = dataflow.string_match %x by "[a-z]+" : tensor<3x!dataflow.string> -> tensor<3xi1>
  // CHECK: dataflow.check %{{.*}} or "not a word" : tensor<3xi1>
  %c = dataflow.check %m or "not a word" : tensor<3xi1>
  // CHECK: dataflow.string_split %{{.*}} at "," {whole} : (tensor<3x!dataflow.string>) -> (tensor<3x2x!dataflow.string>, tensor<3xi64>, tensor<i64>)
  %p, %counts, %most = dataflow.string_split %x at "," {whole} : (tensor<3x!dataflow.string>) -> (tensor<3x2x!dataflow.string>, tensor<3xi64>, tensor<i64>)
  // CHECK: dataflow.decode_image bgr %{{.*}} : tensor<9xui8> -> tensor<4x4x3xui8>
  %i = dataflow.decode_image bgr %bytes : tensor<9xui8> -> tensor<4x4x3xui8>
  return %t, %c, %p, %i : tensor<3x!dataflow.string>, tensor<3xi1>, tensor<3x2x!dataflow.string>, tensor<4x4x3xui8>
}
