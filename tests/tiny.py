"""A seeded, untrained BART of a few thousand parameters with a byte tokenizer: real code paths, no weights needed."""

from functools import cache

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import BartConfig, BartForConditionalGeneration, PreTrainedTokenizerFast

from core.models.seq2seq import Seq2SeqScorer

SPECIALS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
WORDS = ["Ġthe", "Ġcat", "Ġdog", "Ġsat", "Ġon", "Ġmat", "Ġa", "Ġran", "The", "Ġhouse", "Ġred", "Ġblue"]


def tokenizer() -> PreTrainedTokenizerFast:
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
    inner.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    return PreTrainedTokenizerFast(
        tokenizer_object=inner,
        bos_token="<s>",
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        mask_token="<mask>",
        clean_up_tokenization_spaces=False,
    )


@cache
def tiny_scorer(seed: int = 0, positions: int = 128) -> Seq2SeqScorer:
    """Weights are spread wide, so that the untrained model has strong opinions to disagree with."""
    torch.manual_seed(seed)
    words = tokenizer()
    config = BartConfig(
        vocab_size=len(words),
        d_model=32,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        max_position_embeddings=positions,
        init_std=0.3,
        bos_token_id=0,
        pad_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=2,
    )
    return Seq2SeqScorer(BartForConditionalGeneration(config).eval(), words, token_budget=400)
