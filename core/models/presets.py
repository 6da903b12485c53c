"""Checkpoints by the names a paper gives them, so that `ERRORSCOPE_NLI=nli-r` is enough: the four of Chen and Eger 2023, section 4.3.

Sizes and licences are those the model hub states; "unknown" where it states none.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

UNKNOWN = "unknown"
ANSWERING = "--include '*.json' '*.txt' '*.model' '*.safetensors'"


class Preset(NamedTuple):
    """`name` as it is set, `label` as the paper has it; `checkpoint` its id on the model hub, "" where it has none.

    `note` says what stands between fetching and playing, `command` fetches it and makes it play.
    """

    name: str
    label: str
    checkpoint: str
    model: str
    size: str
    licence: str
    languages: str
    note: str = ""
    command: str = ""


PICKLED = "its weights come as a pickle, which is never loaded: convert them once in between, as docs/models.md says"
_NLI_R = "ynie/roberta-large-snli_mnli_fever_anli_R1_R2_R3-nli"
_NLI_D = "microsoft/deberta-large-mnli"
_XNLI_D = "MoritzLaurer/mDeBERTa-v3-base-mnli-xnli"

NLI: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            "nli-r", "NLI-R", _NLI_R, "RoBERTa-large, on SNLI, MNLI, FEVER and ANLI", "1.4 GB", "MIT", "English",
            "the main branch has a pickle, which is never loaded; the same weights as safetensors stand under refs/pr/1",
            f"hf download {_NLI_R} --revision refs/pr/1 {ANSWERING} --local-dir nli-r\nERRORSCOPE_NLI=nli-r make run",
        ),
        Preset(
            "nli-d", "NLI-D", _NLI_D, "DeBERTa-large, on MNLI", "1.6 GB", "MIT", "English", PICKLED,
            f"hf download {_NLI_D} --local-dir nli-d\nERRORSCOPE_NLI=nli-d make run",
        ),
        Preset(
            "xnli-r", "XNLI-R", "", "XLM-RoBERTa-base, on SNLI, MNLI, FEVER, ANLI and XNLI, by the authors", UNKNOWN, UNKNOWN,
            "across languages",
            "it is on no model hub: crosslingual_R/model.pt, linked from cyr19/MENLI, is a pickle, which is never loaded. Convert "
            "it to safetensors in a folder xnli-r, beside the other files of FacebookAI/xlm-roberta-base, and write the labels "
            "entailment, neutral, contradiction into its config.json",
        ),
        Preset(
            "xnli-d", "XNLI-D", _XNLI_D, "mDeBERTa-v3-base, on MNLI and XNLI", "0.6 GB", "MIT", "across languages", "",
            f"hf download {_XNLI_D} {ANSWERING}\nERRORSCOPE_NLI=xnli-d make run",
        ),
    )
}  # fmt: skip
OF_ROLE: dict[str, dict[str, Preset]] = {"nli": NLI}


def named(role: str, chosen: str) -> Preset | None:
    """The preset of a role by its name, in upper or lower case; None for anything else, and where a folder has that name."""
    preset = OF_ROLE.get(role, {}).get(chosen.strip().lower())
    return None if preset is None or Path(chosen).expanduser().is_dir() else preset
