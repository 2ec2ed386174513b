"""Reading and writing: one module per format behind one registry."""
