"""One command for each figure the README quotes."""
