"""Rows that are added up in order, with functions of mathematics: lanes run along the loop around."""

import math

import numpy as np
import pytest

import weft
from weft import prange


def softmax(rows, out):
    for i in prange(rows.shape[0]):
        most = rows[i, 0]
        for j in range(1, rows.shape[1]):
            most = max(most, rows[i, j])
        total = np.float32(0)
        for j in range(rows.shape[1]):
            weight = math.exp(rows[i, j] - most)
            out[i, j] = weight
            total += weight
        for j in range(rows.shape[1]):
            out[i, j] /= total


def softmax_of_two_exponentials(rows, out):
    for i in prange(rows.shape[0]):
        most = rows[i, 0]
        for j in range(1, rows.shape[1]):
            most = max(most, rows[i, j])
        total = np.float32(0)
        for j in range(rows.shape[1]):
            total += math.exp(rows[i, j] - most)
        for j in range(rows.shape[1]):
            out[i, j] = math.exp(rows[i, j] - most) / total


def exponentials_first(rows, out):
    for i in prange(rows.shape[0]):
        total = np.float32(0)
        for j in range(rows.shape[1]):
            out[i, j] = math.exp(rows[i, j])
        for j in range(rows.shape[1]):
            total += out[i, j]
        for j in range(rows.shape[1]):
            out[i, j] = out[i, j] / total


def made(function, **options):
    rows = np.random.default_rng(5).random((300, 120)).astype(np.float32)
    out = np.zeros_like(rows)
    compiled = weft.jit(**options)(function)
    compiled(rows, out)
    assert np.allclose(out, np.exp(rows) / np.exp(rows).sum(axis=1, keepdims=True), rtol=1e-5)
    return [remark.message for remark in compiled.remarks]


@pytest.mark.parametrize("function", [softmax, softmax_of_two_exponentials])
def test_lanes_run_along_the_loop_around(function):
    said = made(function)
    assert any("iterations at a time on all cores" in message for message in said)
    assert not any("share the loop around" in message or "along rows" in message for message in said)


@pytest.mark.parametrize("function", [softmax, softmax_of_two_exponentials])
def test_where_any_order_will_do_lanes_run_along_rows(function):
    assert any("share the loop around" in message for message in made(function, fastmath=True))


def test_exponentials_that_are_not_added_up_where_they_are_made_run_along_rows():
    assert any("share the loop around" in message for message in made(exponentials_first))
