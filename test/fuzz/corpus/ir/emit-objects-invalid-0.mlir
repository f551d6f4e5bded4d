// options: 4
func.func @kernel() {
  return
}
