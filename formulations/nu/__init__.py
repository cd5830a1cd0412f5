"""nu-SVC, reduced convex hulls, and the extended nu-SVC with its linear relaxations and CVaR."""
