"""Reading one output from what the program left, one way of reading a file."""
