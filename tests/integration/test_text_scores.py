"""tools/experiments/text_scores.py against values computed by hand."""

import math
import sys

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools" / "experiments"))
import text_scores  # noqa: E402


def test_words():
    assert text_scores.words("Don’t  STOP, e-mail me: 3.5 times_over!") == [
        "don't", "stop", "e", "mail", "me", "3", "5", "times", "over"]
    assert text_scores.words("Äpfel & 蘋果") == ["äpfel", "蘋果"]
    assert text_scores.words(" ?! ") == []


def test_exact_and_f1():
    assert text_scores.exact("Where is my card?", "where is my CARD")
    assert not text_scores.exact("my card is where", "where is my card")
    assert text_scores.f1("my card is where", "where is my card") == 1
    assert text_scores.f1("a a b", "a c") == pytest.approx(2 * 1 / 5)
    assert text_scores.f1("x", "y") == 0
    assert text_scores.f1("", "?") == 1


def test_bleu():
    # Identical, also when there is no 4-gram.
    assert text_scores.bleu("play some music now please", "Play some music, now please.") == 1
    assert text_scores.bleu("hello", "hello") == pytest.approx(1)
    # 1-grams 3/4, 2-grams (1+1)/(3+1), 3-grams (0+1)/(2+1), 4-grams (0+1)/(1+1); equal lengths.
    made, true = "the cat sat down", "the cat lay down"
    assert text_scores.bleu(made, true) == pytest.approx((3 / 4 * 2 / 4 * 1 / 3 * 1 / 2) ** 0.25)
    # Too short: 2/2, (1+1)/(1+1), 1/1, 1/1, times exp(1 - 4/2).
    assert text_scores.bleu("the cat", "the cat sat down") == pytest.approx(math.exp(-1))
    # Too long is not punished twice: 4/6, (3+1)/(5+1), (2+1)/(4+1), (1+1)/(3+1).
    assert text_scores.bleu("the cat sat down there today", "the cat sat down") == pytest.approx(
        (4 / 6 * 4 / 6 * 3 / 5 * 2 / 4) ** 0.25)
    # A word counts at most as often as the true text has it: 1/3, (0+1)/(2+1), 1/2, 1/1.
    assert text_scores.bleu("the the the", "the cat sat") == pytest.approx(
        (1 / 3 * 1 / 3 * 1 / 2 * 1) ** 0.25)
    assert text_scores.bleu("dog", "cat") == 0
    assert text_scores.bleu("", "cat") == 0
