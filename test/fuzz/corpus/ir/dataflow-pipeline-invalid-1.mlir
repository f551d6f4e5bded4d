// passes: dataflow-pipeline rank=0 ranks=2 microbatches=3
func.func @argument(%x: tensor<f32> {dataflow.name = "x"}) -> (tensor<f32> {dataflow.name = "loss"}) {
  %scale = dataflow.state "optimizer.scale" dense<1.0> : tensor<f64>
  return %x : tensor<f32>
}
