// options: 3
func.func @exchange(%x: tensor<8x6xf32>, %h: tensor<8x6xf16>) -> (tensor<8x6xf32>, tensor<2x6xf32>, tensor<32x6xf32>, tensor<4x12xf32>, tensor<8x3xf16>, tensor<8x9xf16>) {
  %a = dataflow.all_reduce sum %x over [2:4, 2:1] : tensor<8x6xf32>
  %b = dataflow.reduce_scatter max %x dim 0 over [4:1] : tensor<8x6xf32> -> tensor<2x6xf32>
  %c = dataflow.all_gather %x dim 0 over [4:1] : tensor<8x6xf32> -> tensor<32x6xf32>
  %d = dataflow.all_to_all %x split 0 join 1 over [2:1] : tensor<8x6xf32> -> tensor<4x12xf32>
  %e = dataflow.shard %h dim 1 over [2:1] : tensor<8x6xf16> -> tensor<8x3xf16>
  %f = dataflow.halo %h dim 1 low 1 high 2 lowest over [2:1] : tensor<8x6xf16> -> tensor<8x9xf16>
  return %a, %b, %c, %d, %e, %f : tensor<8x6xf32>, tensor<2x6xf32>, tensor<32x6xf32>, tensor<4x12xf32>, tensor<8x3xf16>, tensor<8x9xf16>
}
