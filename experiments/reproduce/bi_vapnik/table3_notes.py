"""What Table 3 says of itself, and what our columns mean."""

from __future__ import annotations

from statistics import mean

from tightmargin.experiments.reproduce.bi_vapnik.published import RATIO, table3
from tightmargin.experiments.reproduce.bi_vapnik.samples import SOURCES
from tightmargin.experiments.reproduce.bi_vapnik.table3 import BEYOND, Splits
from tightmargin.experiments.reproduce.framework.comparison import reaches


def definitions(name: str) -> str:
    """What the columns say."""
    source = SOURCES[name]
    return (
        f"percent of errors; FP is the share of the {source.negative_name} called "
        f"{source.positive_name}, FN the share of the {source.positive_name} called "
        f"{source.negative_name}, r in training, t in testing"
    )


COSTS = (
    "C is the median, C min and C max its range over the splits; 'C from' and 'C to' hold every C "
    "that any optimal multipliers have on any of the splits, proven from the losses at "
    f"neighbouring H, which are convex in H ({RATIO} {BEYOND} is solved for the last row)"
)


def findings(splits: Splits) -> tuple[str, str]:
    """What the printed rates say of themselves, beside ours."""
    return _exchanged(splits), _ranges(splits)


def _exchanged(splits: Splits) -> str:
    """The printed FP and FN add up to R with the sizes of the two classes exchanged."""
    source = SOURCES[splits.name]
    paper = next(iter(table3(splits.name).values()))
    first = splits.at(0)
    texts = []
    for part, rates in (("r", [one.train for one in first]), ("t", [one.test for one in first])):
        plus, minus = sizes(splits)[part]
        fp = mean(one.false_positive for one in rates) * minus / plus
        fn = mean(one.false_negative for one in rates) * plus / minus
        texts.append(f"{fp:.1f}/{fn:.1f} (paper {paper[f'FP_{part}']}/{paper[f'FN_{part}']})")
    return (
        f"the printed FP and FN, as shares so defined, miss the printed R by up to "
        f"{misfit(splits, exchanged=False):.1f} points; with the numbers of "
        f"{source.positive_name} and {source.negative_name} exchanged below the line by "
        f"{misfit(splits, exchanged=True):.1f} at most. So exchanged, ours in the first row are "
        f"{texts[0]} in training and {texts[1]} in testing. They are not judged"
    )


def sizes(splits: Splits) -> dict[str, tuple[int, int]]:
    """Points labelled +1 and -1 in training (r) and testing (t)."""
    return {"r": splits.training, "t": splits.testing}


def misfit(splits: Splits, *, exchanged: bool) -> float:
    """How far the printed R is at most from what the printed FP and FN add up to."""
    found = []
    for printed in table3(splits.name).values():
        for part, name in (("r", "R_trn"), ("t", "R_tst")):
            plus, minus = sizes(splits)[part]
            below_fp, below_fn = (plus, minus) if exchanged else (minus, plus)
            wrong = (
                float(printed[f"FP_{part}"]) * below_fp + float(printed[f"FN_{part}"]) * below_fn
            )
            found.append(abs(wrong / (plus + minus) - float(printed[name])))
    return max(found)


def _ranges(splits: Splits) -> str:
    """How many printed error rates lie between the least and the largest of our splits."""
    inside = asked = 0
    for number, printed in enumerate(table3(splits.name).values()):
        found = splits.at(number)
        for text, rates in (
            (printed["R_trn"], [one.train.errors for one in found]),
            (printed["R_tst"], [one.test.errors for one in found]),
        ):
            asked += 1
            inside += reaches(rates, text)
    return (
        f"the paper's split is not known: of its {asked} error rates in training and testing "
        f"{inside} lie between the least and the largest of our splits"
    )
