// RUN: %fails sluice-opt %s --dataflow-pool-experts=slots=0 2>&1 | FileCheck %s --check-prefix=SLOTS
// RUN: %fails sluice-opt %s --dataflow-pool-experts=hit-rate=1.5 2>&1 | FileCheck %s --check-prefix=RATE
// SLOTS: experts have 0 slots and a hit rate of 0.{{.*}}, options 'slots' and 'hit-rate' of dataflow-pool-experts, give at least 1
// RATE: experts have 2 slots and a hit rate of 1.5{{.*}} a rate from 0 to 1
func.func @identity(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
