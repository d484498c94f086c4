"""Tables in blocks of rows, for fits on more than memory and on more than one machine."""
