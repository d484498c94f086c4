"""Reading tables from files: formats, column types, row identity."""
