"""Branch and cut for an extended nu-SVC to which rows, bounds and fixings were added."""
