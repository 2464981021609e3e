"""What a network knows, layer by layer: linear probes on the activations of its forward pass."""
