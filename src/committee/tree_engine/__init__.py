"""Tree engine: binning, growing, and compact forms of trees for prediction."""
