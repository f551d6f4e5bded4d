func.func @no_tensor(%c: tensor<i1>, %x: tensor<i32>, %y: i32) {
  %0 = dataflow.select %c, %x, %y : tensor<i1>, tensor<i32>, i32
  return
}
