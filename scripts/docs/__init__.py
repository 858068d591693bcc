"""What the documentation site is made with: its code blocks, and the parts that are generated from the program."""
