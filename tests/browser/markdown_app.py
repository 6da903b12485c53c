"""Every kind of widget that reads Markdown, with the texts given as JSON in the address; run by Streamlit for test_scripts.py."""

from __future__ import annotations

import json

import streamlit as st

from pages._ui.shared.markdown import escape_markdown

TEXTS: list[str] = json.loads(st.query_params["texts"])

for i, text in enumerate(TEXTS):
    shown = escape_markdown(text)
    kinds = {
        "markdown": lambda s=shown: st.markdown(s),
        "bold": lambda s=shown: st.markdown(f"**{s}** ({s})"),
        "colour": lambda s=shown: st.markdown(f":small[{s}]"),
        **(
            {
                "caption": lambda s=shown: st.caption(s),
                "info": lambda s=shown: st.info(s),
                "title": lambda s=shown: st.title(s, anchor=False),
                "button": lambda s=shown, k=i: st.button(s, key=f"b{k}"),
                "toggle": lambda s=shown, k=i: st.toggle(s, key=f"t{k}"),
                "checkbox": lambda s=shown, k=i: st.checkbox(s, key=f"c{k}"),
                "pills": lambda t=text, k=i: st.pills("p", [t], format_func=escape_markdown, key=f"p{k}", label_visibility="collapsed"),
                "segmented": lambda t=text, k=i: st.segmented_control("s", [t], format_func=escape_markdown, key=f"s{k}", label_visibility="collapsed"),
                "radio": lambda t=text, k=i: st.radio("r", [t], format_func=escape_markdown, key=f"r{k}", label_visibility="collapsed"),
                "tabs": lambda s=shown: st.tabs([s]),
                "expander": lambda s=shown: st.expander(s),
                "popover": lambda s=shown: st.popover(s),
                "metric": lambda s=shown: st.metric(s, s),
                "status": lambda s=shown: st.status(s, state="complete"),
                "progress": lambda s=shown: st.progress(0.5, s),
                "table": lambda s=shown: st.table([{s: s}], hide_index=True),
                "label": lambda s=shown, k=i: st.text_input(s, key=f"l{k}"),
                "download": lambda s=shown, k=i: st.download_button(s, b"x", key=f"d{k}"),
            }
            if i < 8
            else {}
        ),
    }  # fmt: skip
    for kind, draw in kinds.items():
        with st.container(key=f"at-{i}-{kind}"):
            draw()
st.text("all drawn")
