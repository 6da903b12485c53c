"""Short names for published checkpoints, as in `ERRORSCOPE_NLI=nli-r`: the four of Chen and Eger 2023, section 4.3.

Sizes and licences are as stated on the model hub, or "unknown".
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from core.errors import PROGRAM

UNKNOWN = "unknown"
FILES = "'*.json' '*.txt' '*.model' '*.safetensors'"
"""What `hf download` fetches of a repository. Its option --include takes one pattern only."""


class ModelPreset(NamedTuple):
    """A preset: `name` is its setting, `label` its name in the paper, `checkpoint` its id on the model hub ("" if none).

    `command` fetches and configures it; `note` describes manual steps in between.
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


PICKLED = f"the published weights are a pickle, a file that can run code when opened: `{PROGRAM} models` reads only the numbers in it, and writes them as safetensors"
_NLI_R = "ynie/roberta-large-snli_mnli_fever_anli_R1_R2_R3-nli"
_NLI_D = "microsoft/deberta-large-mnli"
_XNLI_D = "MoritzLaurer/mDeBERTa-v3-base-mnli-xnli"

NLI: dict[str, ModelPreset] = {
    preset.name: preset
    for preset in (
        ModelPreset(
            "nli-r", "NLI-R", _NLI_R, "RoBERTa-large, on SNLI, MNLI, FEVER and ANLI", "1.4 GB", "MIT", "English",
            "the main branch has only a pickle, which Errorscope never loads; refs/pr/1 has the same weights as safetensors",
            f"hf download {_NLI_R} --revision refs/pr/1 {FILES} --local-dir nli-r\nERRORSCOPE_NLI=nli-r make run",
        ),
        ModelPreset(
            "nli-d", "NLI-D", _NLI_D, "DeBERTa-large, on MNLI", "1.6 GB", "MIT", "English", PICKLED,
            f"hf download {_NLI_D} --local-dir nli-d\n{PROGRAM} models nli nli-d\nERRORSCOPE_NLI=nli-d make run",
        ),
        ModelPreset(
            "xnli-r", "XNLI-R", "", "XLM-RoBERTa-base, on SNLI, MNLI, FEVER, ANLI and XNLI, by the authors", UNKNOWN, UNKNOWN,
            "across languages",
            "it is not on the model hub: crosslingual_R/model.pt, linked from cyr19/MENLI, is a pickle, which Errorscope never loads. "
            "Convert it to safetensors in a folder xnli-r, together with the other files of FacebookAI/xlm-roberta-base, and write "
            "the labels entailment, neutral, contradiction into its config.json",
        ),
        ModelPreset(
            "xnli-d", "XNLI-D", _XNLI_D, "mDeBERTa-v3-base, on MNLI and XNLI", "0.6 GB", "MIT", "across languages", "",
            f"hf download {_XNLI_D} {FILES}\nERRORSCOPE_NLI=xnli-d make run",
        ),
    )
}  # fmt: skip
OF_KIND: dict[str, dict[str, ModelPreset]] = {"nli": NLI}


def named(kind: str, chosen: str) -> ModelPreset | None:
    """Return the preset of a kind of model by name, ignoring case; None if there is none or a folder has that name."""
    preset = OF_KIND.get(kind, {}).get(chosen.strip().lower())
    return None if preset is None or Path(chosen).expanduser().is_dir() else preset
