"""A down-and-out call by Monte Carlo: paths of xorshift random numbers that end where they touch the barrier."""

from __future__ import annotations

import math

import numpy as np

from examples.irregular.problem import Problem, blocks_for
from weft import cuda

SIZE = 10_000
STEPS = 256
THREADS = 256


@cuda.jit(device=True)
def xorshift(state):
    """Return the next state of Marsaglia's 32-bit xorshift generator (13, 17, 5)."""
    state ^= state << np.uint32(13)
    state ^= state >> np.uint32(17)
    state ^= state << np.uint32(5)
    return state


@cuda.jit(device=True)
def unit(state):
    """Return a number in (0, 1) of a state's upper 24 bits."""
    return (np.float32(np.int32(state >> np.uint32(8))) + np.float32(0.5)) * np.float32(1 / 16777216)


@cuda.jit
def barrier_option(seeds, start, strike, barrier, drift, volatility, steps, payoffs):
    """Walk one path: two steps of the price for each pair of normal variates (Box and Muller)."""
    i = cuda.grid(1)
    if i < payoffs.size:
        state = seeds[i]
        price = start
        alive = True
        step = 0
        while alive and step < steps:
            state = xorshift(state)
            radius = math.sqrt(np.float32(-2) * math.log(unit(state)))
            state = xorshift(state)
            angle = np.float32(2 * math.pi) * unit(state)
            price *= math.exp(drift + volatility * (radius * math.cos(angle)))
            alive = price > barrier
            if alive:
                price *= math.exp(drift + volatility * (radius * math.sin(angle)))
                alive = price > barrier
            step += 2
        payoffs[i] = max(price - strike, np.float32(0)) if alive else np.float32(0)


def by_numpy(seeds, start, strike, barrier, drift, volatility, steps: int) -> np.ndarray:
    """Return the payoffs, all paths advanced together."""
    states = seeds.copy()
    price = np.full(seeds.size, start, np.float32)
    alive = np.ones(seeds.size, bool)
    for _ in range(0, steps, 2):
        units = []
        for _ in range(2):
            states ^= states << np.uint32(13)
            states ^= states >> np.uint32(17)
            states ^= states << np.uint32(5)
            units.append(((states >> np.uint32(8)).astype(np.float32) + np.float32(0.5)) / np.float32(2**24))
        radius = np.sqrt(np.float32(-2) * np.log(units[0]))
        angle = np.float32(2 * np.pi) * units[1]
        for variate in (radius * np.cos(angle), radius * np.sin(angle)):
            price = np.where(alive, price * np.exp(drift + volatility * variate), price)
            alive &= price > barrier
    return np.where(alive, np.maximum(price - strike, np.float32(0)), np.float32(0))


def paths(count: int, steps: int) -> Problem:
    """Return a year of an option in so many paths and steps."""
    seeds = np.random.default_rng(9).integers(1, 2**32, count, np.uint32)
    rate, sigma, time = 0.03, 0.25, 1 / steps
    numbers = (
        np.float32(100),
        np.float32(100),
        np.float32(85),
        np.float32((rate - sigma * sigma / 2) * time),
        np.float32(sigma * math.sqrt(time)),
    )
    return Problem(
        barrier_option,
        (seeds, *numbers, steps, np.zeros(count, np.float32)),
        blocks_for(count, THREADS),
        THREADS,
        (7,),
        lambda: (by_numpy(seeds, *numbers, steps),),
        rtol=1e-3,
        atol=2e-2,
        # A path that passes the barrier by less than the rounding.
        mismatches=1e-3,
    )


def problems(size: int = SIZE) -> list[Problem]:
    return [paths(size, STEPS)]
