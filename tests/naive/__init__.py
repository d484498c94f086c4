"""Plain NumPy twins of the engine: slow, short, and checked against scikit-learn by the tests beside them."""
