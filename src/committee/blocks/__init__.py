"""Tables larger than memory: batches of rows from files and lazy tables, and the coded table on disk."""
