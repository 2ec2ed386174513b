"""The default search, `maximal`: random greedy walks to cuts that cannot be made finer."""
