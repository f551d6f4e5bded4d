// RUN: sluice-opt %s | sluice-opt | FileCheck %s

// Zero points are packed as the weight is, floats, or left out; a batch's rows are those of the left-hand side.
// CHECK-LABEL: func.func @products
func.func @products(%a: tensor<3x40xf32>, %b: tensor<2x3x40xf16>, %w: tensor<6x2x16xui8>, %v: tensor<6x3x8xui8>, %s: tensor<6x2xf32>, %t: tensor<6x3xf16>, %z: tensor<6x1xui8>, %y: tensor<6x3xf16>) {
  // CHECK: dataflow.block_matmul %{{.*}}, %{{.*}} scales %{{.*}} less %{{.*}} bits 4 block 32 : (tensor<3x40xf32>, tensor<6x2x16xui8>, tensor<6x2xf32>, tensor<6x1xui8>) -> tensor<3x6xf32>
  %0 = dataflow.block_matmul %a, %w scales %s less %z bits 4 block 32 : (tensor<3x40xf32>, tensor<6x2x16xui8>, tensor<6x2xf32>, tensor<6x1xui8>) -> tensor<3x6xf32>
  // CHECK: dataflow.block_matmul %{{.*}}, %{{.*}} scales %{{.*}} less %{{.*}} bits 4 block 16 : (tensor<2x3x40xf16>, tensor<6x3x8xui8>, tensor<6x3xf16>, tensor<6x3xf16>) -> tensor<2x3x6xf16>
  %1 = dataflow.block_matmul %b, %v scales %t less %y bits 4 block 16 : (tensor<2x3x40xf16>, tensor<6x3x8xui8>, tensor<6x3xf16>, tensor<6x3xf16>) -> tensor<2x3x6xf16>
  // CHECK: dataflow.block_matmul %{{.*}}, %{{.*}} scales %{{.*}} bits 4 block 32 : (tensor<3x40xf32>, tensor<6x2x16xui8>, tensor<6x2xf32>) -> tensor<3x6xf32>
  %2 = dataflow.block_matmul %a, %w scales %s bits 4 block 32 : (tensor<3x40xf32>, tensor<6x2x16xui8>, tensor<6x2xf32>) -> tensor<3x6xf32>
  return
}

// A row of 40 elements has two blocks of 32 bytes, each behind its scale and its sum.
// CHECK-LABEL: func.func @rounded
func.func @rounded(%a: tensor<3x40xf32>, %b: tensor<2x3x40xf16>, %p: tensor<336xi8>) {
  // CHECK: dataflow.round_blocks %{{.*}} block 16 : tensor<2x3x40xf16>
  %0 = dataflow.round_blocks %b block 16 : tensor<2x3x40xf16>
  // CHECK: dataflow.round_blocks %{{.*}} block 32 : tensor<3x40xf32>
  %3 = dataflow.round_blocks %a block 32 : tensor<3x40xf32>
  // CHECK: %[[Q:.*]] = dataflow.quantize_blocks %{{.*}} bits 4 block 32 : (tensor<3x40xf32>) -> tensor<3x80xi8>
  %1 = dataflow.quantize_blocks %a bits 4 block 32 : (tensor<3x40xf32>) -> tensor<3x80xi8>
  // CHECK: dataflow.packed_block_matmul %[[Q]], %{{.*}} panels <bits = 4, block = 32, columns = 6, depth = 40, panel = 8, scale = f32, zeros = bytes> : (tensor<3x80xi8>, tensor<336xi8>) -> tensor<3x6xf32>
  %2 = dataflow.packed_block_matmul %1, %p panels <bits = 4, block = 32, columns = 6, depth = 40, panel = 8, scale = f32, zeros = bytes> : (tensor<3x80xi8>, tensor<336xi8>) -> tensor<3x6xf32>
  return
}

// A block of 8 columns has 32 bytes of scales, 8 of zero points and 128 of words.
// CHECK-LABEL: func.func @packed
func.func @packed(%a: tensor<3x40xf32>, %w: tensor<6x2x16xui8>, %s: tensor<6x2xf32>, %z: tensor<6x1xui8>) {
  // CHECK: %[[P:.*]] = dataflow.pack_blocks %{{.*}} scales %{{.*}} less %{{.*}} panels <bits = 4, block = 32, columns = 6, depth = 40, panel = 8, scale = f32, zeros = bytes> : (tensor<6x2x16xui8>, tensor<6x2xf32>, tensor<6x1xui8>) -> tensor<336xi8>
  %0 = dataflow.pack_blocks %w scales %s less %z panels <bits = 4, block = 32, columns = 6, depth = 40, panel = 8, scale = f32, zeros = bytes> : (tensor<6x2x16xui8>, tensor<6x2xf32>, tensor<6x1xui8>) -> tensor<336xi8>
  // CHECK: dataflow.packed_block_matmul %{{.*}}, %[[P]] panels <bits = 4, block = 32, columns = 6, depth = 40, panel = 8, scale = f32, zeros = bytes> : (tensor<3x40xf32>, tensor<336xi8>) -> tensor<3x6xf32>
  %1 = dataflow.packed_block_matmul %a, %0 panels <bits = 4, block = 32, columns = 6, depth = 40, panel = 8, scale = f32, zeros = bytes> : (tensor<3x40xf32>, tensor<336xi8>) -> tensor<3x6xf32>
  return
}
