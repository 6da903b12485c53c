"""SMART (Amplayo et al. 2022): sentences as the units that are matched. Alignment of sentence matrices, and string matchers."""
