"""The annotator's page `/t/<token>`: the editor, instructions and progress, and nothing else."""
