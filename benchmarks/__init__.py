"""committee against its peers: speed as ratios in one run, with the quality beside the time."""
