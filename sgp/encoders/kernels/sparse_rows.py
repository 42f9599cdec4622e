"""What a decoder asks of sparse rows, in one pass over them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sgp.compilation import compiled, mix
from sgp.encoders.kernels.marked_graph import Hashes


@compiled
def measured_rows(
    first: NDArray[np.int64], columns: NDArray[np.int64], numbers: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], Hashes]:
    """Of each row its product with the weights [b], its squared norm [b], and a 128-bit hash [b, 2].

    Row i has the columns `columns[first[i] : first[i + 1]]`, ascending; one that stands n times has the value n there.
    Its last columns are `numbers[i]`.
    """
    rows, last = len(first) - 1, len(weights) - numbers.shape[1]
    products, squares, names = np.zeros(rows), np.zeros(rows), np.empty((rows, 2), np.uint64)
    bits = numbers.view(np.uint64)
    for row in range(rows):
        one, two = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
        times = 0
        for place in range(first[row], first[row + 1]):
            column = columns[place]
            products[row] += weights[column]
            times = times + 1 if place > first[row] and columns[place - 1] == column else 1
            squares[row] += 2 * times - 1  # n^2 is the sum of the first n odd numbers
            one = mix(one + np.uint64(column))
            two = mix(two ^ np.uint64(column))
        for which in range(numbers.shape[1]):
            products[row] += weights[last + which] * numbers[row, which]
            squares[row] += numbers[row, which] ** 2
            one = mix(one + bits[row, which])
            two = mix(two ^ bits[row, which])
        names[row, 0], names[row, 1] = one, two
    return products, squares, names
