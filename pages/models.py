"""Models: every metric and whether it can run here, the model that speaks, and how this installation is set up."""

from __future__ import annotations

import platform

import streamlit as st

from core.errors import UserError
from core.metrics.registry import METRICS
from core.models.checkpoint import Checkpoint, describe, resolve
from core.settings import Settings
from core.settings import load as settings
from pages._ui import errors, tables, wiring
from pages._ui.models_parts import facts, hidden, installed, options, own_version, row

PACKAGES = ("streamlit", "sqlalchemy", "sacrebleu", "rouge-score", "torch", "transformers")


def main() -> None:
    """Draw the page."""
    wiring.store()
    chosen = settings()
    st.title("Models", anchor=False)
    speaker(chosen)
    st.subheader("Metrics", anchor=False)
    metrics()
    st.subheader("This installation", anchor=False)
    installation(chosen)


def speaker(chosen: Settings) -> None:
    """Which model the seq2seq role uses, and how to set another."""
    st.subheader("The model behind BARTScore and BARTScore++", anchor=False)
    with st.container(border=True):
        try:
            model: Checkpoint | None = resolve(chosen.seq2seq)
            mark = "  :orange-badge[bundled, small demonstration model]" if model and model.bundled else ""
            st.markdown(f"**{errors.plain(describe(chosen.seq2seq))}**{mark}")
        except UserError as error:
            model = None
            errors.show(error)
        if model is not None:
            st.text(facts(model))
        if model is not None and model.bundled:
            st.markdown(
                "It ships with Errorscope so that everything runs without a network. It shows how the method works; "
                "for results to report, set a full-size model."
            )
        with st.expander("Use another model", icon=":material/swap_horiz:"):
            st.markdown(
                "Set `ERRORSCOPE_SEQ2SEQ` before the start: `bundled`, a folder with a BART checkpoint in safetensors, "
                "or the name of a checkpoint fetched from the model hub before. Nothing is downloaded while Errorscope runs."
            )
            st.code(
                "hf download facebook/bart-large-cnn --include '*.json' '*.txt' '*.safetensors'\n"
                "ERRORSCOPE_SEQ2SEQ=facebook/bart-large-cnn make run",
                language="shell",
            )
            st.markdown(
                "Scores carry the model in their signature: another model is another signature, scored anew beside the old."
                " One can be trained on pairs of your own:"
            )
            st.code("python -m core.models.train_bart_mini --help", language="shell")


def metrics() -> None:
    """Every metric of the registry: can it run, what it needs, how to read it."""
    rows = [row(name) for name in METRICS]
    ready = sum(r["state"] == "ready" for r in rows)
    st.caption(
        f"{ready} of {len(rows)} ready. ↑ higher is better, ↓ lower is better. Missing values are never counted as 0: they say what they lack."
    )
    st.html("<style>.st-key-models-metrics td:last-child { min-width: 15rem; }</style>")
    with st.container(key="models-metrics"):
        tables.reading([{k: v for k, v in r.items() if k != "signature"} for r in rows], tall=len(rows))
    with st.expander("Options: what can be set, and how it is written", icon=":material/tune:"):
        st.caption(
            "Set them where you score, or on the command line as name|option:value, in quotes. A metric with other options "
            "is a metric of its own, scored beside the plain one."
        )
        st.code(
            'python -m core score outputs.csv --metrics "chrf,bartscore++|k:5|rounds:8" --out scores.csv',
            language="shell",
        )
        tables.reading(options(), tall=len(options()))
    with st.expander("Signatures: everything a score depends on", icon=":material/fingerprint:"):
        tables.reading([{"metric": r["metric"], "signature": r["signature"]} for r in rows], tall=len(rows))


def installation(chosen: Settings) -> None:
    """Where things are kept, and which versions run."""
    rows = [
        ("Database", hidden(chosen.database), "ERRORSCOPE_DB"),
        ("Folder for database and logs", str(chosen.home), "ERRORSCOPE_HOME"),
        ("Model", chosen.seq2seq, "ERRORSCOPE_SEQ2SEQ"),
        ("Device", chosen.device, "ERRORSCOPE_DEVICE"),
        ("Prompt lists", str(chosen.prompts or "mt alone, built in"), "ERRORSCOPE_PROMPTS"),
        ("Scoring worker", chosen.worker, "ERRORSCOPE_WORKER"),
        ("Errorscope", own_version(), ""),
        ("Python", platform.python_version(), ""),
        *((name, installed(name), "") for name in PACKAGES),
    ]
    tables.reading([{"what": what, "is": value, "set by": by} for what, value, by in rows], tall=len(rows))


main()
