// RUN: not sluice-opt %s --dataflow-assign-layout='lanes=many' 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: not sluice-opt %s --dataflow-assign-layout='lanes=0' 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not sluice-opt %s --dataflow-assign-layout='lanes=12' 2>&1 | FileCheck %s --check-prefix=POWER
// RUN: not sluice-opt %s --dataflow-assign-layout='lanes=-8' 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not sluice-opt %s --dataflow-assign-layout='registers=0' 2>&1 | FileCheck %s --check-prefix=REGISTERS
// RUN: not sluice-opt %s --dataflow-assign-layout='dot=octets' 2>&1 | FileCheck %s --check-prefix=DOT
// RUN: not sluice-opt %s --dataflow-assign-layout='half=quads' 2>&1 | FileCheck %s --check-prefix=HALF
// RUN: not sluice-opt %s --dataflow-assign-layout='round' 2>&1 | FileCheck %s --check-prefix=ROUND
// RUN: not sluice-opt %s --dataflow-assign-layout='conv=fft' 2>&1 | FileCheck %s --check-prefix=CONV
// RUN: not sluice-opt %s --dataflow-assign-layout='tolerance=-1' 2>&1 | FileCheck %s --check-prefix=TOLERANCE
// RUN: not sluice-opt %s --dataflow-assign-layout='tolerance=nan' 2>&1 | FileCheck %s --check-prefix=TOLERANCE
// RUN: not sluice-opt %s --dataflow-assign-layout='dot=tiles lanes=4' 2>&1 | FileCheck %s --check-prefix=TILES
// RUN: not sluice-opt %s --dataflow-assign-layout='half=tiles lanes=8 registers=16' 2>&1 | FileCheck %s --check-prefix=TILES
// RUN: not sluice-opt %s --dataflow-assign-layout='l2=100' 2>&1 | FileCheck %s --check-prefix=CACHE
// RUN: not sluice-opt %s --dataflow-assign-layout='rounded-bits=5' 2>&1 | FileCheck %s --check-prefix=ROUNDED
// WORD: for the --lanes option: 'many' value invalid
// NONE: option 'lanes' of dataflow-assign-layout is 0 and must be a power of two from 1 to 1024
// POWER: option 'lanes' of dataflow-assign-layout is 12 and must be a power of two
// NEGATIVE: option 'lanes' of dataflow-assign-layout is -8 and must be a power of two
// REGISTERS: option 'registers' of dataflow-assign-layout is 0 and must be from 1 to 1024
// DOT: 'octets' is unknown, option 'dot' of dataflow-assign-layout, use none, plain, pairs, quads or tiles
// HALF: 'quads' is unknown, option 'half' of dataflow-assign-layout, use none, pairs or tiles
// TILES: option 'lanes' of dataflow-assign-layout is {{4|8}}, which allows no tiles, and option 'dot' or 'half' requests tiles, give lanes = 16
// ROUND: option 'round' of dataflow-assign-layout needs half-precision instructions, give half = pairs or tiles
// CONV: 'fft' is unknown, option 'conv' of dataflow-assign-layout, use direct, auto or winograd
// TOLERANCE: option 'tolerance' of dataflow-assign-layout is {{.*}} and must be 0 or more
// CACHE: option 'l2' of dataflow-assign-layout is 100 and must be from 4096 to 1073741824
// ROUNDED: '5' is unknown, option 'rounded-bits' of dataflow-assign-layout, use 0, 4 or 8

func.func @weights(%x: tensor<4x8xf32>) -> tensor<4x40xf32> {
  %w = dataflow.constant dense<1.0> : tensor<8x40xf32>
  %0 = dataflow.matmul %x, %w : tensor<4x8xf32>, tensor<8x40xf32>
  return %0 : tensor<4x40xf32>
}
