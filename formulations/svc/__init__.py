"""Hard margin, C-SVC and soft margin, primal and dual."""
