"""The tree engine: binning, growing and packed prediction forms of trees."""
