// options: 1
gpu.module @device {
  gpu.func @grid(%x: f32, %out: !llvm.ptr) kernel {
    %0 = gpu.subgroup_reduce add %x : (f32) -> f32
    llvm.store %0, %out : f32, !llvm.ptr
    gpu.return
  }
}
