"""Members of ensembles: trees and any scikit-learn estimator behind one interface."""
