// RUN: sluice-opt %s -verify-diagnostics -split-input-file

func.func @rank(%a: tensor<40xf32>, %w: tensor<6x2x16xui8>, %s: tensor<6x2xf32>) {
  // expected-error @+1 {{its left-hand side has rank 1, at least 2 is needed}}
  %0 = dataflow.block_matmul %a, %w scales %s bits 4 block 32 : (tensor<40xf32>, tensor<6x2x16xui8>, tensor<6x2xf32>) -> tensor<6xf32>
  return
}

// -----

func.func @bits(%a: tensor<3x40xf32>, %w: tensor<6x2x16xui8>, %s: tensor<6x2xf32>) {
  // expected-error @+1 {{elements of 3 bits, use 2, 4 or 8}}
  %0 = dataflow.block_matmul %a, %w scales %s bits 3 block 32 : (tensor<3x40xf32>, tensor<6x2x16xui8>, tensor<6x2xf32>) -> tensor<3x6xf32>
  return
}

// -----

func.func @block(%a: tensor<3x40xf32>, %w: tensor<6x2x16xui8>, %s: tensor<6x2xf32>) {
  // expected-error @+1 {{blocks of 24 elements, use a multiple of 16 up to 1073741824}}
  %0 = dataflow.block_matmul %a, %w scales %s bits 4 block 24 : (tensor<3x40xf32>, tensor<6x2x16xui8>, tensor<6x2xf32>) -> tensor<3x6xf32>
  return
}

// -----

func.func @no_block(%a: tensor<3x40xf32>, %w: tensor<6x2x16xui8>, %s: tensor<6x2xf32>) {
  // expected-error @+1 {{blocks of 0 elements, use a multiple of 16 up to 1073741824}}
  %0 = dataflow.block_matmul %a, %w scales %s bits 4 block 0 : (tensor<3x40xf32>, tensor<6x2x16xui8>, tensor<6x2xf32>) -> tensor<3x6xf32>
  return
}

// -----

func.func @weight_rank(%a: tensor<3x40xf32>, %w: tensor<6x32xui8>, %s: tensor<6x2xf32>) {
  // expected-error @+1 {{its weight and scales have ranks 2 and 2, and must have ranks 3 and 2}}
  %0 = dataflow.block_matmul %a, %w scales %s bits 4 block 32 : (tensor<3x40xf32>, tensor<6x32xui8>, tensor<6x2xf32>) -> tensor<3x6xf32>
  return
}

// -----

func.func @bytes(%a: tensor<3x40xf32>, %w: tensor<6x2x8xui8>, %s: tensor<6x2xf32>) {
  // expected-error @+1 {{a row of its weight has 2 x 8 bytes, and 40 elements need 2 x 16}}
  %0 = dataflow.block_matmul %a, %w scales %s bits 4 block 32 : (tensor<3x40xf32>, tensor<6x2x8xui8>, tensor<6x2xf32>) -> tensor<3x6xf32>
  return
}

// -----

func.func @blocks(%a: tensor<3x40xf32>, %w: tensor<6x3x16xui8>, %s: tensor<6x2xf32>) {
  // expected-error @+1 {{a row of its weight has 3 x 16 bytes, and 40 elements need 2 x 16}}
  %0 = dataflow.block_matmul %a, %w scales %s bits 4 block 32 : (tensor<3x40xf32>, tensor<6x3x16xui8>, tensor<6x2xf32>) -> tensor<3x6xf32>
  return
}

// -----

func.func @scales(%a: tensor<3x40xf32>, %w: tensor<6x2x16xui8>, %s: tensor<6x3xf32>) {
  // expected-error @+1 {{its scales must have the shape 6 x 2}}
  %0 = dataflow.block_matmul %a, %w scales %s bits 4 block 32 : (tensor<3x40xf32>, tensor<6x2x16xui8>, tensor<6x3xf32>) -> tensor<3x6xf32>
  return
}

// -----

func.func @zeros(%a: tensor<3x40xf32>, %w: tensor<6x2x16xui8>, %s: tensor<6x2xf32>, %z: tensor<6x2xui8>) {
  // expected-error @+1 {{its zero points must have the shape 6 x 1}}
  %0 = dataflow.block_matmul %a, %w scales %s less %z bits 4 block 32 : (tensor<3x40xf32>, tensor<6x2x16xui8>, tensor<6x2xf32>, tensor<6x2xui8>) -> tensor<3x6xf32>
  return
}

// -----

func.func @float_zeros(%a: tensor<3x40xf32>, %w: tensor<6x2x16xui8>, %s: tensor<6x2xf32>, %z: tensor<6x1xf32>) {
  // expected-error @+1 {{its zero points must have the shape 6 x 2}}
  %0 = dataflow.block_matmul %a, %w scales %s less %z bits 4 block 32 : (tensor<3x40xf32>, tensor<6x2x16xui8>, tensor<6x2xf32>, tensor<6x1xf32>) -> tensor<3x6xf32>
  return
}

// -----

func.func @columns(%w: tensor<6x2x16xui8>, %s: tensor<6x2xf32>) {
  // expected-error @+1 {{packs 6 columns, and the panels have 7}}
  %0 = dataflow.pack_blocks %w scales %s panels <bits = 4, block = 32, columns = 7, depth = 40, panel = 8, scale = f32, zeros = none> : (tensor<6x2x16xui8>, tensor<6x2xf32>) -> tensor<320xi8>
  return
}

// -----

func.func @scale(%w: tensor<6x2x16xui8>, %s: tensor<6x2xf32>) {
  // expected-error @+1 {{packs scales of type 'f32', and the panels have scales of type 'f16'}}
  %0 = dataflow.pack_blocks %w scales %s panels <bits = 4, block = 32, columns = 6, depth = 40, panel = 8, scale = f16, zeros = none> : (tensor<6x2x16xui8>, tensor<6x2xf32>) -> tensor<320xi8>
  return
}

// -----

func.func @form(%w: tensor<6x2x16xui8>, %s: tensor<6x2xf32>) {
  // expected-error @+1 {{has zero points that differ in type or number from those of the panels}}
  %0 = dataflow.pack_blocks %w scales %s panels <bits = 4, block = 32, columns = 6, depth = 40, panel = 8, scale = f32, zeros = bytes> : (tensor<6x2x16xui8>, tensor<6x2xf32>) -> tensor<320xi8>
  return
}

// -----

func.func @panel(%w: tensor<6x2x16xui8>, %s: tensor<6x2xf32>) {
  // expected-error @+1 {{panels of 0 columns, use 1 to 4096}}
  %0 = dataflow.pack_blocks %w scales %s panels <bits = 4, block = 32, columns = 6, depth = 40, panel = 0, scale = f32, zeros = none> : (tensor<6x2x16xui8>, tensor<6x2xf32>) -> tensor<320xi8>
  return
}

// -----

func.func @depth(%w: tensor<6x2x16xui8>, %s: tensor<6x2xf32>) {
  // expected-error @+1 {{panels of 6 columns and 0 rows, use 1 to 2147483648 of each}}
  %0 = dataflow.pack_blocks %w scales %s panels <bits = 4, block = 32, columns = 6, depth = 0, panel = 8, scale = f32, zeros = none> : (tensor<6x2x16xui8>, tensor<6x2xf32>) -> tensor<320xi8>
  return
}

// -----

func.func @wide(%w: tensor<6x2x16xui8>, %s: tensor<6x2xf32>) {
  // expected-error @+1 {{elements of 16 bits, use 2, 4 or 8}}
  %0 = dataflow.pack_blocks %w scales %s panels <bits = 16, block = 32, columns = 6, depth = 40, panel = 8, scale = f32, zeros = none> : (tensor<6x2x16xui8>, tensor<6x2xf32>) -> tensor<320xi8>
  return
}

// -----

func.func @integers(%w: tensor<6x2x16xui8>, %s: tensor<6x2xf32>) {
  // expected-error @+1 {{scales cannot have type 'i32', use f32, f16 or bf16}}
  %0 = dataflow.pack_blocks %w scales %s panels <bits = 4, block = 32, columns = 6, depth = 40, panel = 8, scale = i32, zeros = none> : (tensor<6x2x16xui8>, tensor<6x2xf32>) -> tensor<320xi8>
  return
}

// -----

func.func @contracts(%a: tensor<3x41xf32>, %p: tensor<320xi8>) {
  // expected-error @+1 {{contracts 41 elements of the left-hand side with panels of 40 elements, and both numbers must be equal}}
  %0 = dataflow.packed_block_matmul %a, %p panels <bits = 4, block = 32, columns = 6, depth = 40, panel = 8, scale = f32, zeros = none> : (tensor<3x41xf32>, tensor<320xi8>) -> tensor<3x6xf32>
  return
}

// -----

func.func @packed_bytes(%a: tensor<3x40xf32>, %p: tensor<319xi8>) {
  // expected-error @+1 {{packed operand must have rank 1 and the 320 bytes of the panels}}
  %0 = dataflow.packed_block_matmul %a, %p panels <bits = 4, block = 32, columns = 6, depth = 40, panel = 8, scale = f32, zeros = none> : (tensor<3x40xf32>, tensor<319xi8>) -> tensor<3x6xf32>
  return
}

// -----

func.func @packed_rank(%a: tensor<40xf32>, %p: tensor<320xi8>) {
  // expected-error @+1 {{its left-hand side has rank 1, at least 2 is needed}}
  %0 = dataflow.packed_block_matmul %a, %p panels <bits = 4, block = 32, columns = 6, depth = 40, panel = 8, scale = f32, zeros = none> : (tensor<40xf32>, tensor<320xi8>) -> tensor<6xf32>
  return
}

// -----

func.func @rounded_block(%a: tensor<3x40xf32>) {
  // expected-error @+1 {{blocks of 24 elements, use a multiple of 16 up to 1073741824}}
  %0 = dataflow.round_blocks %a block 24 : tensor<3x40xf32>
  return
}

// -----

func.func @rounded_rank(%a: tensor<f32>) {
  // expected-error @+1 {{its input has rank 0, at least 1 is needed}}
  %0 = dataflow.round_blocks %a block 32 : tensor<f32>
  return
}

// -----

func.func @bytes_bits(%a: tensor<3x40xf32>) {
  // expected-error @+1 {{elements of 3 bits, use 2, 4 or 8}}
  %0 = dataflow.quantize_blocks %a bits 3 block 32 : (tensor<3x40xf32>) -> tensor<3x80xi8>
  return
}

// -----

func.func @bytes_result(%a: tensor<3x40xf32>) {
  // expected-error @+1 {{op inferred type(s) 'tensor<3x80xi8>' are incompatible with return type(s) of operation 'tensor<3x72xi8>'}}
  %0 = dataflow.quantize_blocks %a bits 4 block 32 : (tensor<3x40xf32>) -> tensor<3x72xi8>
  return
}

// -----

func.func @rounded_rows(%a: tensor<3x72xi8>, %p: tensor<320xi8>) {
  // expected-error @+1 {{rows of its left-hand side have 72 bytes, and 40 rounded elements need 80}}
  %0 = dataflow.packed_block_matmul %a, %p panels <bits = 4, block = 32, columns = 6, depth = 40, panel = 8, scale = f32, zeros = none> : (tensor<3x72xi8>, tensor<320xi8>) -> tensor<3x6xf32>
  return
}

// -----

func.func @rounded_sums(%a: tensor<3x40xf32>) {
  // expected-error @+1 {{rounded rows cannot have blocks of 65536 elements, use up to 32768}}
  %0 = dataflow.quantize_blocks %a bits 4 block 65536 : (tensor<3x40xf32>) -> tensor<3x65544xi8>
  return
}
