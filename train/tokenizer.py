"""Byte-level BPE for the decoder, trained on the corpus as it is learnt."""
import argparse
import random

import tokenizers

import corpus


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("corpus")
    p.add_argument("--closed", required=True, help="digests of texts that must not be learnt")
    p.add_argument("-o", "--output", required=True)
    p.add_argument("--vocab", type=int, default=8192)
    a = p.parse_args()
    texts, weights = corpus.load(a.corpus, a.closed)
    rng = random.Random(2)
    tk = tokenizers.Tokenizer(tokenizers.models.BPE())
    tk.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tk.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=a.vocab, special_tokens=["<pad>", "<s>", "</s>"], show_progress=False,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet())
    top = max(weights)
    tk.train_from_iterator((t for t, w in zip(texts, weights) if rng.random() < w / top * 1.5), trainer)
    tk.save(a.output)
    print(f"{len(texts)} texts, {tk.get_vocab_size()} tokens")


if __name__ == "__main__":
    main()
