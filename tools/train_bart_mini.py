"""Train the small BART model that is bundled with Errorscope, or your own.

    python -m tools.train_bart_mini --pairs pairs.tsv.gz --sentences sentences.txt.gz --out my_bart

`--pairs` is a TSV with two columns (reference, system output), `--sentences` has one sentence per line; both may be gzipped. BARTScore++
needs a scoring model with two properties (Lu et al. 2023, section 3.2): p(y_t | y_<t, r) is high if y follows or rewords r, and it
recovers directly after an error in y. The second is trained explicitly: the decoder reads a damaged prefix (words and sub-words
substituted, inserted, deleted) and the label at every position is the next token of r. Words on both sides are replaced by made-up names,
so that copying also works for unseen words.

All randomness comes from `--seed`; settings and the final loss are written to `training.json` next to the weights. A GPU is used where
there is one (`ERRORSCOPE_DEVICE`); then `--loaders 8` makes the cases in other processes, and `--batch-tokens 16000` keeps the GPU busy.
After a stop, the same command with `--resume` instead of `--start` continues from the last state saved.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from torch.utils.data import DataLoader, IterableDataset, get_worker_info
from transformers import BartConfig, BartForConditionalGeneration, PreTrainedTokenizerFast

from core.formats import output
from core.models import loading
from tools.bart_cases import (
    BOS,
    EOS,
    IGNORE,
    PAD,
    SHARES,
    BartTrainingSettings,
    Corpus,
    Tokens,
    example,
)
from tools.nli_pairs import autocast, held_out, read_lines

SPECIALS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
STATE = "state.pt"
"""Parameters in fp32 and the optimizer's state of a round that is not finished."""


@dataclass(frozen=True)
class BartProgress:
    """How far a round is: steps done, seconds, and the running loss."""

    step: int = 0
    seconds: float = 0.0
    loss: float = 0.0


def build_tokenizer(lines: list[str], settings: BartTrainingSettings) -> PreTrainedTokenizerFast:
    """Train a byte-level BPE without a prefix space, so that decoding is lossless in any script."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        lines,
        trainers.BpeTrainer(
            vocab_size=settings.vocabulary,
            special_tokens=SPECIALS,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", BOS), ("</s>", EOS)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        mask_token="<mask>",
        cls_token="<s>",
        sep_token="</s>",
        model_max_length=settings.positions,
        clean_up_tokenization_spaces=False,
    )


def batches(corpus: Corpus, s: BartTrainingSettings, rng: np.random.Generator) -> Iterator[list[torch.Tensor]]:
    """Yield endless batches of cases of similar length, with about `batch_tokens` decoder tokens each."""
    while True:
        pool = [example(corpus, s, rng) for _ in range(2048)]
        pool = [p for p in pool if len(p[1]) <= s.positions]
        pool.sort(key=lambda p: len(p[1]) + len(p[0]))
        groups: list[list[tuple[Tokens, Tokens, Tokens]]] = [[]]
        for case in pool:
            size = len(groups[-1]) + 1
            if size > 1 and size * max(len(case[1]), len(case[0]) // 2) > s.batch_tokens:
                groups.append([])
            groups[-1].append(case)
        for index in rng.permutation(len(groups)):
            yield [
                pad(side, fill) for side, fill in zip(zip(*groups[index], strict=True), (PAD, PAD, IGNORE), strict=True)
            ]


class TrainingBatches(IterableDataset[list[torch.Tensor]]):
    """Yields what `batches` yields; each loading process draws its own cases."""

    def __init__(self, corpus: Corpus, s: BartTrainingSettings, seed: list[int]) -> None:
        self.corpus, self.settings, self.seed = corpus, s, seed

    def __iter__(self) -> Iterator[list[torch.Tensor]]:
        process = get_worker_info()
        seed = [*self.seed, process.id + 1] if process else self.seed
        return batches(self.corpus, self.settings, np.random.default_rng(seed))


def pad(rows: tuple[Tokens, ...], fill: int) -> torch.Tensor:
    out = torch.full((len(rows), max(map(len, rows))), fill)
    for i, row in enumerate(rows):
        out[i, : len(row)] = torch.tensor(row)
    return out


def rate(step: int, done: float, s: BartTrainingSettings) -> float:
    """Return the share of the peak learning rate: linear warm-up, then a half cosine down to 2 % as `done` goes from 0 to 1."""
    return min(1.0, (step + 1) / s.warmup) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * min(1.0, done))))


def train(
    pairs_path: Path,
    sentences_path: Path,
    out: Path,
    s: BartTrainingSettings,
    start: Path | None,
    resume: bool = False,
    every: int = 200,
    loaders: int = 0,
) -> None:
    """Train into the folder `out`, saving after every `every` steps; `minutes` shortens the schedule.

    `loaders` is the number of processes that make the cases. The cases depend on it.
    `start` is the folder of an earlier round to continue, whose tokenizer is kept; `resume` continues the stopped round in `out`, which
    draws other cases from there on than a round that was not stopped.
    """
    device = loading.device()
    if resume:
        start = out
    torch.manual_seed(s.seed)
    state = torch.load(out / STATE, map_location="cpu", weights_only=True) if resume else None
    at = BartProgress(**state["at"]) if state else BartProgress()
    raw_pairs = [tuple(line.split("\t")[:2]) for line in read_lines(pairs_path) if line.count("\t") >= 1]
    raw_pairs = [(a, b) for a, b in raw_pairs if a.strip() and b.strip() and not held_out(a)]
    lines = [line for line in read_lines(sentences_path) if line.strip()]
    lines = sorted({*lines, *(a for a, _ in raw_pairs)} - {line for line in lines if held_out(line)})
    tokenizer = PreTrainedTokenizerFast.from_pretrained(start) if start else build_tokenizer(lines, s)
    earlier = json.loads((start / "training.json").read_text())["rounds"] if start else []
    earlier = earlier[:-1] if resume else earlier
    out.mkdir(parents=True, exist_ok=True)
    tokenizer.save_pretrained(out)

    def encode(texts: list[str]) -> list[Tokens]:
        return [list(e) for e in tokenizer(texts, add_special_tokens=False)["input_ids"]]

    sides = [encode([p[i] for p in raw_pairs]) for i in (0, 1)]
    pairs = [(a, b) for a, b in zip(*sides, strict=True) if max(len(a), len(b)) <= 160]
    sentences = [t for t in encode(lines) if 1 < len(t) <= 160]
    pieces = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    starts_word = np.array([piece.startswith("Ġ") for piece in pieces])
    corpus = Corpus(pairs, sentences, starts_word)
    print(f"{len(pairs)} pairs, {len(sentences)} sentences, {len(tokenizer)} sub-words", flush=True)

    model = (
        BartForConditionalGeneration.from_pretrained(start, dtype=torch.float32)
        if start
        else BartForConditionalGeneration(bart_config(s, len(tokenizer)))
    )
    model.to(device)
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters, on {device}", flush=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=s.learning_rate, betas=(0.9, 0.98), weight_decay=0.01)
    if state:
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
    model.train()
    cases = TrainingBatches(corpus, s, [s.seed, at.step] if resume else [s.seed])
    source = iter(DataLoader(cases, batch_size=None, num_workers=loaders, prefetch_factor=8 if loaders else None))
    started = time.time() - at.seconds
    for step in range(at.step, s.steps):
        done = max(step / s.steps, (time.time() - started) / 60 / s.minutes if s.minutes else 0.0)
        if done >= 1:
            break
        for group in optimizer.param_groups:
            group["lr"] = s.learning_rate * rate(step, done, s)
        encoder_ids, decoder_ids, labels = (t.to(device) for t in next(source))
        with autocast(device):
            hidden = model.model(
                input_ids=encoder_ids,
                attention_mask=(encoder_ids != PAD).long(),
                decoder_input_ids=decoder_ids,
                use_cache=False,
            ).last_hidden_state
            keep = labels != IGNORE
            logits = model.lm_head(hidden[keep])
        loss = torch.nn.functional.cross_entropy(logits.float(), labels[keep])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        average = loss.item() if not step else 0.98 * at.loss + 0.02 * loss.item()
        at = BartProgress(step + 1, time.time() - started, average)
        if step % 50 == 0:
            print(f"step {step} loss {at.loss:.3f} {at.seconds:.0f} s", flush=True)
        if at.step % every == 0:
            save(model, out, earlier, s, at)
            part = out / f"{STATE}.part"
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "at": asdict(at)}, part)
            part.replace(out / STATE)
    save(model, out, earlier, s, at)
    (out / STATE).unlink(missing_ok=True)


def bart_config(s: BartTrainingSettings, vocabulary: int) -> BartConfig:
    return BartConfig(
        vocab_size=vocabulary,
        d_model=s.d_model,
        encoder_layers=s.layers,
        decoder_layers=s.layers,
        encoder_attention_heads=s.heads,
        decoder_attention_heads=s.heads,
        encoder_ffn_dim=s.feed_forward,
        decoder_ffn_dim=s.feed_forward,
        max_position_embeddings=s.positions,
        dropout=0.0,
        attention_dropout=0.0,
        scale_embedding=True,
        bos_token_id=BOS,
        pad_token_id=PAD,
        eos_token_id=EOS,
        decoder_start_token_id=EOS,
    )


def save(
    model: BartForConditionalGeneration,
    out: Path,
    earlier: list[object],
    s: BartTrainingSettings,
    at: BartProgress,
) -> None:
    """Save the weights once as fp16 safetensors, and the record of all rounds; training continues in fp32."""
    tied = ("lm_head.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight")
    half = {k: v.detach().to("cpu", torch.float16) for k, v in model.state_dict().items() if k not in tied}
    model.save_pretrained(out, state_dict=half)
    rounds = [*earlier, {"settings": asdict(s), "steps": at.step, "loss": round(at.loss, 4)}]
    output.write_files({out / "training.json": json.dumps({"rounds": rounds}, indent=1) + "\n"})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--sentences", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=BartTrainingSettings.steps)
    parser.add_argument("--minutes", type=float, help="stop sooner: the schedule is shortened to fit")
    parser.add_argument("--seed", type=int, default=BartTrainingSettings.seed)
    parser.add_argument("--learning-rate", type=float, default=BartTrainingSettings.learning_rate)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--start", type=Path, help="folder of an earlier round to continue")
    how.add_argument(
        "--resume", action="store_true", help="continue the stopped round in --out, with the same settings"
    )
    parser.add_argument("--batch-tokens", type=int, default=BartTrainingSettings.batch_tokens)
    parser.add_argument("--loaders", type=int, default=0, help="processes that make the cases")
    for share in SHARES:
        parser.add_argument(f"--{share.replace('_', '-')}", type=float, default=getattr(BartTrainingSettings, share))
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    args = parser.parse_args()
    output.check_folder([("--pairs", args.pairs), ("--sentences", args.sentences)], "--out", args.out)
    torch.set_num_threads(args.threads)
    settings = BartTrainingSettings(
        steps=args.steps,
        minutes=args.minutes,
        seed=args.seed,
        learning_rate=args.learning_rate,
        batch_tokens=args.batch_tokens,
        **{share: getattr(args, share) for share in SHARES},
    )
    train(args.pairs, args.sentences, args.out, settings, args.start, args.resume, loaders=args.loaders)


if __name__ == "__main__":
    main()
