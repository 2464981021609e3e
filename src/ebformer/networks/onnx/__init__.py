"""Networks as ONNX files, for other languages: one module per family writes its forward pass as a graph."""
