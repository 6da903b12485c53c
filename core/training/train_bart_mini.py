"""Train the small BART model that is bundled with Errorscope, or your own.

    python -m core.training.train_bart_mini --pairs pairs.tsv.gz --sentences sentences.txt.gz --out my_bart

`--pairs` is a TSV with two columns (reference, system output), `--sentences` has one sentence per line; both may be gzipped. BARTScore++
needs a scoring model with two properties (Lu et al. 2023, section 3.2): p(y_t | y_<t, r) is high if y follows or rewords r, and it
recovers directly after an error in y. The second is trained explicitly: the decoder reads a damaged prefix (words and sub-words
substituted, inserted, deleted) and the label at every position is the next token of r. Words on both sides are replaced by made-up names,
so that copying also works for unseen words.

All randomness comes from `--seed`; settings and the final loss are written to `training.json` next to the weights.
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
from transformers import BartConfig, BartForConditionalGeneration, PreTrainedTokenizerFast

from core.formats import output
from core.training.nli_pairs import held_out, read_lines

BOS, PAD, EOS, UNK, MASK = range(5)
SPECIALS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
IGNORE = -100


@dataclass(frozen=True)
class BartTrainingSettings:
    """All hyperparameters. The shares of the training cases are drawn in the order of the fields; the rest are rewordings."""

    vocabulary: int = 8000
    d_model: int = 256
    layers: int = 3
    heads: int = 4
    feed_forward: int = 1024
    positions: int = 1024
    steps: int = 8000
    minutes: float | None = None
    batch_tokens: int = 1800
    learning_rate: float = 1.2e-3
    warmup: int = 400
    seed: int = 13
    copy: float = 0.42
    denoise: float = 0.08
    extract: float = 0.03
    gibberish: float = 0.03
    word_errors: float = 0.06
    token_errors: float = 0.04
    cut_short: float = 0.04
    renamed: float = 0.35


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


Tokens = list[int]


class Corpus:
    """Sentences as token lists, with words, made-up names and tokens to damage them."""

    def __init__(self, pairs: list[tuple[Tokens, Tokens]], sentences: list[Tokens], starts_word: np.ndarray) -> None:
        self.pairs, self.sentences, self.starts_word = pairs, sentences, starts_word
        self.word_list = [w for s in sentences[:12000] for w in self.words(s)[1:]]
        self.inner = np.flatnonzero(~starts_word)
        self.inner = self.inner[self.inner > MASK]
        self.initial = np.flatnonzero(starts_word)

    def words(self, tokens: Tokens) -> list[Tokens]:
        out: list[Tokens] = []
        for token in tokens:
            if out and not self.starts_word[token]:
                out[-1].append(token)
            else:
                out.append([token])
        return out

    def name(self, rng: np.random.Generator) -> Tokens:
        """Return a made-up word: a word-initial token and up to three inner ones."""
        return [int(rng.choice(self.initial)), *map(int, rng.choice(self.inner, rng.integers(0, 4)))]

    def rename(self, first: Tokens, second: Tokens, rng: np.random.Generator) -> tuple[Tokens, Tokens]:
        """Replace one to three words that both texts share by the same made-up name in both."""
        a, b = self.words(first), self.words(second)
        shared = sorted({tuple(w) for w in a[1:]} & {tuple(w) for w in b[1:]})
        if not shared:
            return first, second
        for index in rng.choice(len(shared), min(len(shared), int(rng.integers(1, 4))), replace=False):
            old, new = list(shared[index]), self.name(rng)
            a, b = [new if w == old else w for w in a], [new if w == old else w for w in b]
        return sum(a, []), sum(b, [])


def damaged_prefix(
    target: Tokens, corpus: Corpus, s: BartTrainingSettings, rng: np.random.Generator
) -> tuple[Tokens, Tokens]:
    """Return decoder inputs and labels of the same length, with errors in the inputs.

    The label at each position is the next token of `target`, given where the prefix deviates from it; positions inside a wrong word have
    no correct label and are excluded from the loss. A long word is sometimes truncated in both, so that fixing a word sub-word by
    sub-word costs less on the way than omitting it.
    """
    inputs: Tokens = []
    labels: Tokens = []
    owed: int | None = None  # a deleted token that should have come next

    def say(token: int, label: int) -> None:
        nonlocal owed
        labels.append(label if owed is None else owed)
        inputs.append(token)
        owed = None

    def wrong(tokens: Tokens, right: int) -> None:
        say(tokens[0], right)
        for token in tokens[1:]:
            say(token, IGNORE)

    for word in corpus.words(target):
        if len(word) > 1 and rng.random() < s.cut_short:
            word = word[: rng.integers(1, len(word))]
        if rng.random() < s.word_errors:
            kind = rng.integers(0, 4)
            other = corpus.name(rng) if rng.random() < 0.3 else corpus.word_list[rng.integers(len(corpus.word_list))]
            if kind == 0 and owed is None:
                owed = word[0]
                continue
            wrong(other, word[0])
            if kind != 1:
                continue
        for token in word:
            if rng.random() < s.token_errors:
                kind = rng.integers(0, 4)
                noise = int(rng.integers(MASK + 1, len(corpus.starts_word)))
                if kind == 0 and owed is None:
                    owed = token
                    continue
                say(noise, token)
                if kind != 1:
                    continue
            say(token, token)
    labels.append(EOS if owed is None else owed)
    return [EOS, BOS, *inputs], [BOS, *labels]


def noised(tokens: Tokens, corpus: Corpus, rng: np.random.Generator) -> Tokens:
    """Apply BART's noise to the encoder input: mask words, drop words, swap neighbouring groups."""
    words = [[MASK] if u < 0.12 else w for w in corpus.words(tokens) if (u := rng.random()) < 0.92]
    if len(words) > 6 and rng.random() < 0.3:
        cut = sorted(rng.choice(len(words), 3, replace=False))
        words = words[: cut[0]] + words[cut[1] : cut[2]] + words[cut[0] : cut[1]] + words[cut[2] :]
    return sum(words, [])


def example(corpus: Corpus, s: BartTrainingSettings, rng: np.random.Generator) -> tuple[Tokens, Tokens, Tokens]:
    """Return (encoder tokens, decoder inputs, labels) of one training case."""
    draw = rng.random()
    pick = corpus.sentences[rng.integers(len(corpus.sentences))]
    if draw < s.copy:
        first = second = pick
    elif draw < s.copy + s.denoise:
        first, second = noised(pick, corpus, rng), pick
    elif draw < s.copy + s.denoise + s.extract:
        others = [corpus.sentences[i] for i in rng.integers(len(corpus.sentences), size=rng.integers(3, 20))]
        others.insert(int(rng.integers(len(others) + 1)), pick)
        first, second = sum(others, []), pick
        if len(first) > s.positions - 4:
            first = pick
    elif draw < s.copy + s.denoise + s.extract + s.gibberish:
        first = second = list(map(int, rng.integers(MASK + 1, s.vocabulary, rng.integers(2, 40))))
    else:
        first, second = corpus.pairs[rng.integers(len(corpus.pairs))]
        if rng.random() < 0.5:
            first, second = second, first
    if rng.random() < s.renamed:
        first, second = corpus.rename(first, second, rng)
    inputs, labels = damaged_prefix(second, corpus, s, rng)
    return [BOS, *first, EOS], inputs, labels


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


def pad(rows: tuple[Tokens, ...], fill: int) -> torch.Tensor:
    out = torch.full((len(rows), max(map(len, rows))), fill)
    for i, row in enumerate(rows):
        out[i, : len(row)] = torch.tensor(row)
    return out


def rate(step: int, done: float, s: BartTrainingSettings) -> float:
    """Return the share of the peak learning rate: linear warm-up, then a half cosine down to 2 % as `done` goes from 0 to 1."""
    return min(1.0, (step + 1) / s.warmup) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * min(1.0, done))))


def train(
    pairs_path: Path, sentences_path: Path, out: Path, s: BartTrainingSettings, start: Path | None, every: int = 500
) -> None:
    """Train into the folder `out`; `start` is the folder of an earlier round to continue, whose tokenizer is kept."""
    torch.manual_seed(s.seed)
    rng = np.random.default_rng(s.seed)
    raw_pairs = [tuple(line.split("\t")[:2]) for line in read_lines(pairs_path) if line.count("\t") >= 1]
    raw_pairs = [(a, b) for a, b in raw_pairs if a.strip() and b.strip() and not held_out(a)]
    lines = [line for line in read_lines(sentences_path) if line.strip()]
    lines = sorted({*lines, *(a for a, _ in raw_pairs)} - {line for line in lines if held_out(line)})
    tokenizer = PreTrainedTokenizerFast.from_pretrained(start) if start else build_tokenizer(lines, s)
    earlier = json.loads((start / "training.json").read_text())["rounds"] if start else []
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
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters", flush=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=s.learning_rate, betas=(0.9, 0.98), weight_decay=0.01)
    model.train()
    source, started, running = batches(corpus, s, rng), time.time(), 0.0
    for step in range(s.steps):
        done = max(step / s.steps, (time.time() - started) / 60 / s.minutes if s.minutes else 0.0)
        if done >= 1:
            break
        for group in optimizer.param_groups:
            group["lr"] = s.learning_rate * rate(step, done, s)
        encoder_ids, decoder_ids, labels = next(source)
        with torch.autocast("cpu", dtype=torch.bfloat16):
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
        running = loss.item() if not step else 0.98 * running + 0.02 * loss.item()
        if step % 50 == 0:
            print(f"step {step} loss {running:.3f} {time.time() - started:.0f} s", flush=True)
        if (step + 1) % every == 0:
            save(model, out, earlier, s, step + 1, running)
    save(model, out, earlier, s, step, running)


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
    steps: int,
    loss: float,
) -> None:
    """Save the weights once as fp16 safetensors, and the record of all rounds; training continues in fp32."""
    tied = ("lm_head.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight")
    half = {k: v.detach().to(torch.float16) for k, v in model.state_dict().items() if k not in tied}
    model.save_pretrained(out, state_dict=half)
    rounds = [*earlier, {"settings": asdict(s), "steps": steps, "loss": round(loss, 4)}]
    output.write({out / "training.json": json.dumps({"rounds": rounds}, indent=1) + "\n"})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--sentences", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=BartTrainingSettings.steps)
    parser.add_argument("--minutes", type=float, help="stop sooner: the schedule is shortened to fit")
    parser.add_argument("--seed", type=int, default=BartTrainingSettings.seed)
    parser.add_argument("--learning-rate", type=float, default=BartTrainingSettings.learning_rate)
    parser.add_argument("--start", type=Path, help="folder of an earlier round to continue")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    args = parser.parse_args()
    output.check_folder([("--pairs", args.pairs), ("--sentences", args.sentences)], "--out", args.out)
    torch.set_num_threads(args.threads)
    settings = BartTrainingSettings(
        steps=args.steps, minutes=args.minutes, seed=args.seed, learning_rate=args.learning_rate
    )
    train(args.pairs, args.sentences, args.out, settings, args.start)


if __name__ == "__main__":
    main()
