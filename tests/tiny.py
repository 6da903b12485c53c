"""Seeded, untrained models of a few thousand parameters with a byte tokenizer: real code paths, no weights needed.

Weights are spread wide, so that an untrained model has strong opinions to disagree with.
"""

from functools import cache

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    M2M100Config,
    M2M100ForConditionalGeneration,
    MT5Config,
    MT5ForConditionalGeneration,
    PreTrainedTokenizerFast,
    T5Config,
    T5ForConditionalGeneration,
)

from core.models.architectures.seq2seq import Languages, Seq2SeqScorer

SPECIALS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "__de__", "__en__"]
WORDS = ["Ġthe", "Ġcat", "Ġdog", "Ġsat", "Ġon", "Ġmat", "Ġa", "Ġran", "The", "Ġhouse", "Ġred", "Ġblue"]


def tokenizer(template: str = "<s> $A </s>") -> PreTrainedTokenizerFast:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: i for i, token in enumerate([*SPECIALS, *alphabet])}
    merges: list[tuple[str, str]] = []
    for word in WORDS:
        built = word[0]
        for letter in word[1:]:
            if built + letter not in vocabulary:
                merges.append((built, letter))
                vocabulary[built + letter] = len(vocabulary)
            built += letter
    inner = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    inner.post_processor = processors.TemplateProcessing(single=template, special_tokens=[("<s>", 0), ("</s>", 2)])
    return PreTrainedTokenizerFast(
        tokenizer_object=inner,
        bos_token="<s>",
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        mask_token="<mask>",
        extra_special_tokens=["__de__", "__en__"],
        clean_up_tokenization_spaces=False,
    )


@cache
def tiny_scorer(seed: int = 0, positions: int = 128, *, biased: bool = False) -> Seq2SeqScorer:
    """BART, on demand with a bias on the vocabulary."""
    torch.manual_seed(seed)
    config = BartConfig(**_bart_shape(tokenizer()), max_position_embeddings=positions)
    model = BartForConditionalGeneration(config)
    if biased:
        model.final_logits_bias += torch.randn_like(model.final_logits_bias)
    return _in_passes(Seq2SeqScorer(model, tokenizer()))


@cache
def tiny_m2m100(seed: int = 0) -> Seq2SeqScorer:
    """M2M100 / NLLB: sources in German, everything else in English."""
    torch.manual_seed(seed)
    config = M2M100Config(**_bart_shape(tokenizer()), max_position_embeddings=128)
    languages = Languages("de", "en")
    return _in_passes(Seq2SeqScorer(M2M100ForConditionalGeneration(config), tokenizer(), languages))


@cache
def tiny_t5(seed: int = 0, *, multilingual: bool = False) -> Seq2SeqScorer:
    """T5, or mT5 (gated, nothing tied); both number positions by distance, and have rows for tokens that do not exist."""
    torch.manual_seed(seed)
    words = tokenizer("$A </s>")
    config = (MT5Config if multilingual else T5Config)(
        vocab_size=len(words) + 20,
        d_model=32,
        d_kv=12,
        d_ff=64,
        num_layers=2,
        num_heads=2,
        relative_attention_num_buckets=8,
        relative_attention_max_distance=20,
        initializer_factor=1.0,
        feed_forward_proj="gated-gelu" if multilingual else "relu",
        tie_word_embeddings=not multilingual,
        pad_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
    )
    model = MT5ForConditionalGeneration(config) if multilingual else T5ForConditionalGeneration(config)
    return _in_passes(Seq2SeqScorer(model, words))


def _in_passes(scorer: Seq2SeqScorer) -> Seq2SeqScorer:
    """Return the scorer with so few tokens per pass that a test needs several passes."""
    scorer.budget.tokens = 400
    return scorer


def _bart_shape(words: PreTrainedTokenizerFast) -> dict[str, object]:
    return {
        "vocab_size": len(words),
        "d_model": 32,
        "encoder_layers": 1,
        "decoder_layers": 2,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
        "encoder_ffn_dim": 64,
        "decoder_ffn_dim": 64,
        "init_std": 0.3,
        "bos_token_id": 0,
        "pad_token_id": 1,
        "eos_token_id": 2,
        "decoder_start_token_id": 2,
    }


FAMILIES = {
    "bart": tiny_scorer,
    "m2m100": tiny_m2m100,
    "t5": tiny_t5,
    "mt5": lambda seed=0: tiny_t5(seed, multilingual=True),
    "biased": lambda seed=0: tiny_scorer(seed, biased=True),
}
