"""Ridge solvers, the random hidden layer, and the methods built on them."""
