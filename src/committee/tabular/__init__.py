"""Tables: columns, cells, validation, class weights."""
