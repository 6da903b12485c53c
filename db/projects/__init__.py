"""Projects: their list, texts, summaries and exports."""
