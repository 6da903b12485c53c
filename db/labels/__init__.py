"""The log of labels, what is kept of it in memory, and numbers of raters."""
