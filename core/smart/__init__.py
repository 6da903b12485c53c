"""SMART (Amplayo et al. 2022): sentence-level matching with alignment of score matrices and string matchers."""
