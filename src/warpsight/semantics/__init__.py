"""What each opcode means, once, in the lane language. `resolve(instruction)` is the way in; see form.py and registry.py."""
