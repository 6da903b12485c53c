"""HTTP routes beside the Streamlit pages: labels, the annotators' task page, login, exports and health."""
