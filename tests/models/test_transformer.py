import pytest
import torch
from torch import nn
from torch.nn import functional

from sgp.models.transformer import (
    PAPER,
    Attention,
    HeuristicTransformer,
    Layer,
    PastKeyValues,
    PlanTransformer,
    Seen,
    SequenceTransformer,
    TransformerShape,
)
from sgp.training.two_views import attention_loss, hidden_loss

SMALL = TransformerShape(3, 24, 4)
TOKENS, ARITY = 40, 2


def count(module):
    return sum(parameter.numel() for parameter in module.parameters())


def model(kind, *arguments, seed=1):
    torch.manual_seed(seed)
    return kind(TOKENS, *arguments, SMALL).double().eval()


def atoms(count, rows=9):
    """Tokens of atoms, none of them padding."""
    told = torch.randint(5, TOKENS, (count, rows, 1 + ARITY), generator=torch.Generator().manual_seed(2))
    return told, torch.ones(count, rows, dtype=torch.bool)


def sequences(count, length):
    """Tokens of plans, none of them padding."""
    return torch.randint(5, TOKENS, (count, length)), torch.ones(count, length, dtype=torch.bool)


def test_attention_is_torchs_and_layers_of_the_papers_size_have_its_parameters():
    torch.manual_seed(0)
    own, theirs = Attention(SMALL), nn.MultiheadAttention(SMALL.hidden, SMALL.heads, batch_first=True)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([own.query.weight, own.key.weight, own.value.weight]))
        theirs.in_proj_bias.copy_(torch.cat([own.query.bias, own.key.bias, own.value.bias]))
        theirs.out_proj.weight.copy_(own.out.weight)
        theirs.out_proj.bias.copy_(own.out.bias)
    rows, others = torch.randn(2, 5, SMALL.hidden), torch.randn(2, 7, SMALL.hidden)
    attention_mask = torch.rand(2, 1, 7) < 0.7
    attention_mask[:, :, 0] = True
    taken, scores = own(rows, own.key_values(others), attention_mask, scores=True)
    expected, weights = theirs(rows, others, others, key_padding_mask=~attention_mask[:, 0], average_attn_weights=False)
    assert torch.allclose(taken, expected, atol=1e-6)
    assert torch.allclose(scores, weights, atol=1e-6)
    fused, nothing = own(rows, own.key_values(others), attention_mask, scores=False)
    assert torch.allclose(fused, expected, atol=1e-6)
    assert nothing is None
    # The paper prints 7M and 16M: without the embeddings, and with weights shared within each stack.
    assert count(Layer(PAPER)) == 7_087_872
    assert count(Layer(PAPER, crossing=True)) == 9_451_776
    whole = PlanTransformer(200, 3, PAPER)
    assert count(whole.encoder) + count(whole.decoder) == 16_539_648


@pytest.mark.parametrize("kind", ["plans", "heuristic", "sequence"])
def test_where_no_scores_are_asked_for_all_else_is_the_same(kind):
    """Results, outputs of layers and gradients are equal, with padding among atoms and after plans."""
    (told, real), (plans, written) = atoms(2), sequences(2, 8)
    real[1, 6:] = written[1, 5:] = False
    kinds = {
        "plans": (PlanTransformer, ARITY, (told, real, plans, written)),
        "heuristic": (HeuristicTransformer, ARITY, (told, real)),
        "sequence": (SequenceTransformer, 80, (plans, written)),
    }
    *made, given = kinds[kind]
    found = []
    for scores in (True, False):
        transformer = model(*made)
        result, seen = transformer(*given, scores=scores)
        assert bool(seen.attended) is scores
        result = result if kind == "heuristic" else result[written]
        result.square().sum().backward()
        left = [each.hidden[each.rows] for each in seen.left]
        found.append([result, *left, *(each.grad for each in transformer.parameters())])
    assert len(found[0]) > 10
    for one, other in zip(*found, strict=True):
        assert torch.allclose(one, other, atol=1e-9)


def test_permuting_atoms_permutes_tokens_padding_changes_nothing_and_no_token_sees_a_later_one():
    encoder = model(PlanTransformer, ARITY)
    (told, real), order = atoms(2), torch.randperm(9)
    one, two = (encoder.encode(each, real, Seen()) for each in (told, told[:, order]))
    assert torch.allclose(one[:, order], two, atol=1e-9)
    heuristic = model(HeuristicTransformer, ARITY)
    assert torch.allclose(heuristic(told, real)[0], heuristic(told[:, order], real)[0], atol=1e-9)
    (told, real), (plans, written) = atoms(2), sequences(2, 6)
    wide, wider = functional.pad(told, (0, 0, 0, 4)), functional.pad(real, (0, 4))
    longer, more = functional.pad(plans, (0, 3)), functional.pad(written, (0, 3))
    transformer = model(PlanTransformer, ARITY)
    one, seen = transformer(told, real, plans, written)
    two, padded = transformer(wide, wider, longer, more)
    assert torch.allclose(one, two[:, :6], atol=1e-9)
    assert torch.allclose(heuristic(told, real)[0], heuristic(wide, wider)[0], atol=1e-9)
    for reduction in ("mean", "sum"):
        assert attention_loss(seen, reduction).item() == pytest.approx(attention_loss(padded, reduction).item())
        assert hidden_loss(seen, 6, reduction).item() == pytest.approx(hidden_loss(padded, 6, reduction).item())
    transformer, given, (plans, written) = model(PlanTransformer, ARITY), atoms(1), sequences(1, 8)
    one, _ = transformer(*given, plans, written)
    plans[0, 5] = 5 + (plans[0, 5] + 1) % 30
    two, _ = transformer(*given, plans, written)
    assert torch.allclose(one[:, :5], two[:, :5], atol=1e-12)
    assert not torch.allclose(one[:, 5:], two[:, 5:], atol=1e-6)


@pytest.mark.parametrize("kind", ["plans", "sequence"])
def test_what_is_kept_gives_what_reading_all_again_gives(kind):
    row, written = sequences(1, 60)
    if kind == "plans":
        transformer, given = model(PlanTransformer, ARITY), atoms(1)
        context = ((transformer.crossed(transformer.encode(*given, Seen())), given[1]),)
    else:
        transformer, given, context = model(SequenceTransformer, 80), (), ()
    whole, _ = transformer(*given, row, written)
    before, done = None, 0
    for step in [1, 3, 2] * 10:
        piece = row[:, done : done + step]
        logits, more = transformer.decode(piece, torch.ones_like(piece, dtype=torch.bool), *context, past=before)
        assert torch.allclose(logits, whole[:, done : done + step], atol=1e-9)
        kept = [new.after(old) for new, old in zip(more, before.layers if before else [None] * len(more), strict=True)]
        done += step
        before = PastKeyValues(kept, torch.ones(1, done, dtype=torch.bool))
    assert done == 60


def by_loops(seen, width):
    """L_att and L_hid as printed, element by element, without padding."""
    attended = left = 0.0
    for scores, _, _ in seen.attended:
        half = len(scores) // 2
        attended += sum(
            (scores[b, h, i, j] - scores[half + b, h, i, j]).item() ** 2 / half
            for b in range(half)
            for h in range(scores.shape[1])
            for i in range(scores.shape[2])
            for j in range(scores.shape[3])
        )
    for hidden, _ in seen.left:
        half = len(hidden) // 2
        left += sum(
            (hidden[b, i, d] - hidden[half + b, i, d]).item() ** 2 / half
            for b in range(half)
            for i in range(hidden.shape[1])
            for d in range(width)
        )
    return attended, left


def test_the_losses_are_those_printed_and_nothing_for_equal_names():
    transformer = model(PlanTransformer, ARITY)
    (told, real), (plans, written) = atoms(4, rows=5), sequences(4, 4)
    with torch.no_grad():
        _, seen = transformer(told, real, plans, written)
    attended, left = by_loops(seen, SMALL.width)
    assert attention_loss(seen, "sum").item() == pytest.approx(attended)
    assert hidden_loss(seen, SMALL.width, "sum").item() == pytest.approx(left)
    modules = 3 * SMALL.layers  # the encoder's, the decoder's two
    assert len(seen.attended) == modules
    rows = (5 + 4 + 4) * SMALL.layers  # of one example
    assert 0 < attention_loss(seen, "mean").item() < attended / rows
    twice = told.clone()
    twice[2:], plans[2:] = twice[:2], plans[:2]
    with torch.no_grad():
        _, seen = transformer(twice, real, plans, written)
    for reduction in ("mean", "sum"):
        assert attention_loss(seen, reduction).item() == 0
        assert hidden_loss(seen, SMALL.width, reduction).item() == 0


def test_a_heuristic_reads_nothing_but_what_two_namings_share():
    """Random values in the outputs after the first `width`, which depend on the naming, change nothing."""
    heuristic, (told, real) = model(HeuristicTransformer, ARITY), atoms(2)
    one = heuristic.values(told, real)
    encode = heuristic.encode

    def disturbed(*arguments):
        rows = encode(*arguments).clone()
        rows[:, :, SMALL.width :] = torch.randn_like(rows[:, :, SMALL.width :])
        return rows

    heuristic.encode = disturbed
    assert torch.equal(one, heuristic.values(told, real))
