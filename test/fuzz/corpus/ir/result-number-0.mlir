// options: 7
  %r:2 = dataflow.concurrent captured(%x) : (tensor<4611686018427387904xf32>) -> (tensor<3xf32>, tensor<6xf32>) {
  ^bb0(%r#2147483648: tensor<64xf32>):
    %p = dataflow.unary relu %x : tensor<3xf32>
  }
    dataflow.yield %p, %r#0 : tensor<3xf32>, tensor<3xf32>
  return %r#0, %r#1 : x<-2xf32>, tensor<3xf32>
}
