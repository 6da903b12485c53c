"""Run the script that the address names, so that one server is enough for both: `?script=charts` or `?script=markdown`."""

from __future__ import annotations

import runpy
from pathlib import Path

import streamlit as st

runpy.run_path(str(Path(__file__).with_name(f"{st.query_params['script']}_app.py")))
