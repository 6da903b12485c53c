"""Train the small NLI model that is bundled with Errorscope: a LoRA adapter for all-MiniLM-L6-v2.

    python -m tools.nli_pairs --sentences … --translations … --without … --out made.tsv.gz
    OMP_WAIT_POLICY=passive python -m tools.train_nli_mini --nli nli.tsv.gz --made made.tsv.gz --out my_nli

`--nli` is a TSV with the header premise, hypothesis, label, origin, split; `--made` takes one or more
outputs of `tools.nli_pairs`, made with different seeds. The made pairs of `dev` come from the first file. Rows of the split `dev` are never
trained on. The encoder reads both texts together; mean and maximum over all tokens give the three logits. The
trained parameters are an adapter for every linear layer of the encoder (Hu et al. 2022) and the two classification layers.

All randomness comes from `--seed`; settings, the digest of the pairs and the results on `dev` are in `training.json`. If other programs
use the same cores, `OMP_WAIT_POLICY=passive` is several times faster.
After a stop, the same command with `--resume` instead of `--start` continues from the last state saved.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from peft import LoraConfig, PeftModel, get_peft_model, get_peft_model_state_dict
from safetensors.torch import save_file

from core.formats import output
from core.models import loading
from core.models.architectures.nli import Classifier, MeanMaxForSequenceClassification, base_of_adapter
from core.signature import package
from tools.nli_pairs import NliPair, Target, autocast, read_lines, read_made

LABELS = ("entailment", "neutral", "contradiction")
LINEAR = ["query", "key", "value", "dense"]
SHARES = {"med": 0.4, "help": 0.4}
"""Shares of the monotonicity pairs to use: they are a third of the data and have little variety."""
TARGETS: dict[str, Target] = {name: (i == 0, i == 1, i == 2) for i, name in enumerate(LABELS)}
SYMMETRIC = frozenset({"msrp"})
STATE = "state.pt"
"""Parameters in fp32 and the optimizer's state of a run that is not finished."""


@dataclass(frozen=True)
class NliTrainingSettings:
    """All hyperparameters."""

    rank: int = 32
    alpha: int = 64
    steps: int = 4500
    minutes: float | None = None
    batch_tokens: int = 1600
    longest: int = 90
    learning_rate: float = 8e-4
    warmup: float = 0.06
    weight_decay: float = 0.01
    seed: int = 13


class EncodedPair(NamedTuple):
    """A pair as model input."""

    row: loading.TokenRow
    target: Target


def read_nli(path: Path, rng: np.random.Generator) -> tuple[list[NliPair], list[NliPair]]:
    """Return the cases of `train`, sampled by `SHARES`, and of `dev`.

    Symmetric pairs and contradictions are trained in both directions.
    """
    train: list[NliPair] = []
    dev: list[NliPair] = []
    for line in filter(None, read_lines(path)[1:]):
        premise, hypothesis, label, origin, split = line.split("\t")
        pair = NliPair(premise, hypothesis, TARGETS[label], origin, split == "dev")
        if pair.dev:
            dev.append(pair)
        elif rng.random() < SHARES.get(origin, 1.0):
            train.append(pair)
            if origin in SYMMETRIC or pair.target == TARGETS["contradiction"]:
                train.append(pair._replace(premise=hypothesis, hypothesis=premise))
    return train, dev


def build(s: NliTrainingSettings, start: Path | None = None) -> PeftModel:
    """Return the base with a new adapter, or with that of the folder `start`, whose rank is kept."""
    network = MeanMaxForSequenceClassification.from_pretrained(
        base_of_adapter().path,
        local_files_only=True,
        use_safetensors=True,
        dtype=torch.float32,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        id2label=dict(enumerate(LABELS)),
        label2id={name: i for i, name in enumerate(LABELS)},
    )
    if start:
        return PeftModel.from_pretrained(network, str(start), is_trainable=True)
    return get_peft_model(
        network,
        LoraConfig(
            task_type="SEQ_CLS",
            r=s.rank,
            lora_alpha=s.alpha,
            lora_dropout=0.0,
            target_modules=LINEAR,
            modules_to_save=["pool", "classifier"],
        ),
    )


def batches(
    cases: Sequence[EncodedPair], s: NliTrainingSettings, rng: np.random.Generator
) -> Iterator[list[EncodedPair]]:
    """Yield endless batches of cases of similar length in random order, with about `batch_tokens` tokens including padding."""
    while True:
        order = rng.permutation(len(cases))
        for first in range(0, len(order), 2048):
            pool = sorted(order[first : first + 2048], key=lambda i: len(cases[i].row.ids))
            groups: list[list[EncodedPair]] = [[]]
            for i in pool:
                if (len(groups[-1]) + 1) * len(cases[i].row.ids) > s.batch_tokens and groups[-1]:
                    groups.append([])
                groups[-1].append(cases[i])
            for index in rng.permutation(len(groups)):
                yield groups[index]


@dataclass
class Progressed:
    """How far a run is; saved with the optimizer's state, so that a stopped run can be continued."""

    step: int = 0
    seen: int = 0
    seconds: float = 0.0
    loss: float = 0.0
    continued: dict[str, Any] | None = None
    """The record of the adapter it started from."""


def train(
    nli: Path,
    made: Sequence[Path],
    out: Path,
    s: NliTrainingSettings,
    start: Path | None = None,
    resume: bool = False,
    every: int = 200,
) -> None:
    """Train into the folder `out`, saving after every `every` steps; `minutes` shortens the schedule.

    `start` is the folder of an earlier adapter to continue, under a schedule of its own; `resume` continues the stopped run in `out`.
    Uses a GPU where there is one (`ERRORSCOPE_DEVICE`).
    """
    device = loading.device()
    torch.manual_seed(s.seed)
    rng = np.random.default_rng(s.seed)
    cases, dev = read_nli(nli, rng)
    files = [read_made(path) for path in made]
    cases += [row for rows in files for row in rows if not row.dev]
    dev_rows = [row for row in files[0] if row.dev]
    model = build(s, out if resume else start).to(device)
    kind = model.peft_config["default"]
    s = replace(s, rank=kind.r, alpha=kind.lora_alpha)
    words = loading.tokenizer(base_of_adapter())
    reader = Classifier(model, words)
    encoded = [EncodedPair(reader.encode(c.premise, c.hypothesis), c.target) for c in cases]
    encoded = [e for e in encoded if len(e.row.ids) <= s.longest]
    trained = [p for p in model.parameters() if p.requires_grad]
    print(f"{len(encoded)} pairs, {sum(p.numel() for p in trained) / 1e6:.2f} M parameters trained", flush=True)
    optimizer = torch.optim.AdamW(trained, lr=s.learning_rate, betas=(0.9, 0.99), weight_decay=s.weight_decay)
    earlier = json.loads((start / "training.json").read_text()) if start else None
    at = restore(model, optimizer, out) if resume else Progressed(continued=earlier)
    source, started = islice(batches(encoded, s, rng), at.step, None), time.time() - at.seconds
    for step in range(at.step + 1, s.steps + 1):
        done = max(step / s.steps, (time.time() - started) / 60 / s.minutes if s.minutes else 0.0)
        if done >= 1 and step < s.steps:
            break
        for group in optimizer.param_groups:
            group["lr"] = s.learning_rate * min(1.0, done / s.warmup) * 0.5 * (1 + math.cos(math.pi * done))
        batch = next(source)
        model.train()
        with autocast(device):
            logits = model(**loading.padded([e.row for e in batch], words.pad_token_id, reader.device)).logits
        targets = torch.tensor([e.target for e in batch], dtype=torch.float32, device=device)
        loss = torch.nn.functional.cross_entropy(logits.float(), targets)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        average = loss.item() if step == 1 else 0.98 * at.loss + 0.02 * loss.item()
        at = Progressed(step, at.seen + len(batch), time.time() - started, average, at.continued)
        if step % 25 == 0:
            print(f"step {step} loss {at.loss:.3f} {at.seen} pairs {at.seconds:.0f} s", flush=True)
        if step % every == 0:
            keep(model, optimizer, at, out)
            print(json.dumps(shares(reader, dev[:: len(dev) // 300 or 1])["all"]), flush=True)
    save(model, out)
    (out / STATE).unlink(missing_ok=True)
    record = {
        "settings": asdict(s),
        "continued": at.continued,
        "steps": at.step,
        "pairs": len(encoded),
        "pairs_seen": at.seen,
        "minutes": round(at.seconds / 60, 1),
        "loss": round(at.loss, 4),
        "sha256": {p.name: hashlib.sha256(p.read_bytes()).hexdigest()[:12] for p in (nli, *made)},
        "versions": {name: package(name) for name in ("torch", "transformers", "peft")},
        "dev": shares(reader, dev),
        "made_dev": shares(reader, dev_rows),
    }
    output.write_files({out / "training.json": json.dumps(record, indent=1) + "\n"})


def shares(reader: Classifier, cases: Sequence[NliPair]) -> dict[str, dict[str, float]]:
    """Return the accuracy over all cases, by label, by origin, and by both."""
    reader.model.eval()
    predicted = reader.logits([(c.premise, c.hypothesis) for c in cases]).values.argmax(axis=1)
    hits: dict[str, list[bool]] = {}
    for case, answer in zip(cases, predicted, strict=True):
        right = case.target[answer] == max(case.target)
        label = LABELS[int(np.argmax(case.target))]
        for key in ("all", label, case.kind, f"{case.kind} {label}"):
            hits.setdefault(key, []).append(right)
    return {key: {"share": round(sum(v) / len(v), 4), "of": len(v)} for key, v in sorted(hits.items())}


def keep(model: Any, optimizer: torch.optim.Optimizer, at: Progressed, out: Path) -> None:
    """Save the adapter, and next to it what `restore` needs to continue exactly."""
    save(model, out)
    trained = {name: p.detach() for name, p in model.named_parameters() if p.requires_grad}
    half = out / f"{STATE}.part"
    torch.save({"trained": trained, "optimizer": optimizer.state_dict(), "at": asdict(at)}, half)
    half.replace(out / STATE)


def restore(model: Any, optimizer: torch.optim.Optimizer, out: Path) -> Progressed:
    """Put back the parameters and the optimizer's state that `keep` saved."""
    state = torch.load(out / STATE, map_location="cpu", weights_only=True)
    model.load_state_dict(state["trained"], strict=False)
    optimizer.load_state_dict(state["optimizer"])
    return Progressed(**state["at"])


def save(model: Any, out: Path) -> None:
    """Save adapter, pooling and classification layer as fp16 safetensors, with their configurations."""
    out.mkdir(parents=True, exist_ok=True)
    half = {
        k: v.detach().to("cpu", torch.float16).contiguous()
        for k, v in get_peft_model_state_dict(model, save_embedding_layers=False).items()
    }
    save_file(half, out / "adapter_model.safetensors", metadata={"format": "pt"})
    adapter = model.peft_config["default"]
    adapter.base_model_name_or_path = base_of_adapter().name
    adapter.modules_to_save = sorted(set(adapter.modules_to_save))  # peft adds its own names again at every start
    adapter.save_pretrained(out)
    config = model.get_base_model().config
    config.architectures = [type(model.get_base_model()).__name__]
    config.save_pretrained(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nli", type=Path, required=True)
    parser.add_argument("--made", type=Path, required=True, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=NliTrainingSettings.steps)
    parser.add_argument("--minutes", type=float, help="stop sooner: the schedule is shortened to fit")
    parser.add_argument("--seed", type=int, default=NliTrainingSettings.seed)
    parser.add_argument("--rank", type=int, default=NliTrainingSettings.rank)
    parser.add_argument("--learning-rate", type=float, default=NliTrainingSettings.learning_rate)
    parser.add_argument("--batch-tokens", type=int, default=NliTrainingSettings.batch_tokens)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--start", type=Path, help="the folder of an adapter to continue; its rank is kept")
    how.add_argument("--resume", action="store_true", help="continue the stopped run in --out, with the same settings")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    args = parser.parse_args()
    output.check_folder([("--nli", args.nli), *(("--made", path) for path in args.made)], "--out", args.out)
    torch.set_num_threads(args.threads)
    settings = NliTrainingSettings(
        rank=args.rank,
        alpha=2 * args.rank,
        steps=args.steps,
        minutes=args.minutes,
        seed=args.seed,
        learning_rate=args.learning_rate,
        batch_tokens=args.batch_tokens,
    )
    train(args.nli, args.made, args.out, settings, args.start, args.resume)


if __name__ == "__main__":
    main()
