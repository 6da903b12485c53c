"""What was not edited stays as it was written, whatever the tokenizer can spell."""

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

from core.models.architectures.seq2seq import Seq2SeqScorer
from core.refine.detokenize import Detokenizer, owners_after
from core.refine.engine import Task, refine_all
from core.refine.result import Options
from tests.tiny import tiny_scorer

PIECES = ["▁the", "▁cat", "▁dog", "s", "▁sat", "▁", "a", "t", "."]


def sentencepiece() -> Seq2SeqScorer:
    """A T5 whose tokenizer normalises (NFKC, blanks run together) and knows few characters."""
    words = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", -20.0), *((p, -2.0) for p in PIECES)]
    inner = Tokenizer(models.Unigram(words, unk_id=2, byte_fallback=False))
    inner.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace("  ", " ")])
    inner.pre_tokenizer = pre_tokenizers.Metaspace()
    inner.decoder = decoders.Metaspace()
    inner.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    fast = PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", eos_token="</s>", unk_token="<unk>")
    config = T5Config(
        vocab_size=12, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2, initializer_factor=1.0,
        pad_token_id=0, eos_token_id=1, decoder_start_token_id=0,
    )  # fmt: skip
    return Seq2SeqScorer(T5ForConditionalGeneration(config), fast)


def test_an_edit_leaves_the_rest_to_the_character() -> None:
    scorer, text = sentencepiece(), "the 😀  cat “sat”."
    encoded = scorer.encode(text)
    detokenizer, all_there = Detokenizer(scorer, text, encoded), tuple(range(len(encoded.ids)))
    assert scorer.decode(encoded.ids) != text
    assert detokenizer.detokenize(encoded.ids, all_there) == text
    at = encoded.ids.index(scorer.tokenizer.convert_tokens_to_ids("▁cat"))
    dog = scorer.tokenizer.convert_tokens_to_ids("▁dog")
    new = [*encoded.ids[:at], dog, *encoded.ids[at + 1 :]]
    assert "😀" in (written := detokenizer.detokenize(new, owners_after(all_there, at, "substitute")))
    assert written.endswith("“sat”.")
    assert "dog" in written
    assert "cat" not in written
    gone = detokenizer.detokenize([*encoded.ids[:at], *encoded.ids[at + 1 :]], owners_after(all_there, at, "delete"))
    assert gone.replace(" ", "") == "the😀“sat”."
    more = detokenizer.detokenize([*encoded.ids[:at], dog, *encoded.ids[at:]], owners_after(all_there, at, "insert"))
    assert "dog  cat" in more


def test_the_refined_text_keeps_what_the_tokenizer_cannot_spell() -> None:
    scorer = sentencepiece()
    tasks = [Task("the 😀 cats “sat”.", ("the dog sat .",)), Task("😀 the 😀", ("the cat",))]
    found = refine_all(scorer, tasks, "precision", Options(rounds=1, edits=("insert",), non_translation="off"))
    assert any(f.steps for f in found)
    for task, f in zip(tasks, found, strict=True):
        kept = iter(f.refined)
        assert all(c in kept for c in task.hypothesis if c != " "), f.refined


def test_owners_follow_the_edits() -> None:
    assert owners_after((0, 1, 2), 1, "insert") == (0, None, 1, 2)
    assert owners_after((0, 1, 2), 1, "delete") == (0, 2)
    assert owners_after((0, 1, 2), 1, "substitute") == (0, None, 2)


def test_a_tokenizer_that_spells_everything_is_taken_at_its_word() -> None:
    scorer, text = tiny_scorer(), "The  cat 😀"
    encoded = scorer.encode(text)
    assert Detokenizer(scorer, text, encoded).detokenize(encoded.ids[:-2] + encoded.ids[-1:], ()) == scorer.decode(
        encoded.ids[:-2]
    )
