"""The range of nu, and local search for the extended nu-SVC."""
