"""Builders that write the models of the papers, and transformers of any size, as ONNX."""
