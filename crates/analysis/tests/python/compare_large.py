"""Holds PageRank and components of a large graph against scipy. Arguments: a folder with arcs and columns as raw numbers."""

import sys
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

folder = Path(sys.argv[1])
arcs = np.fromfile(folder / "arcs", dtype="<u4").reshape(-1, 2)
ranks = np.fromfile(folder / "pagerank", dtype="<f8")
ours = np.fromfile(folder / "component", dtype="<u4")
nodes = len(ranks)
matrix = csr_array((np.ones(len(arcs)), (arcs[:, 0], arcs[:, 1])), shape=(nodes, nodes))

degrees = matrix.sum(axis=1)
dangling = degrees == 0
steps = matrix.T.tocsr()
theirs = np.full(nodes, 1 / nodes)
for _ in range(200):
    shares = np.divide(theirs, degrees, out=np.zeros(nodes), where=~dangling)
    theirs = 0.85 * (steps @ shares) + (0.15 + 0.85 * theirs[dangling].sum()) / nodes
apart = np.abs(ranks - theirs).max()
print(f"PageRank: at most {apart:.2e} apart")
assert apart < 1e-8

count, labels = connected_components(matrix, directed=True, connection="strong")
assert count == ours.max() + 1
# The same sets: each of our numbers goes with one of theirs, and the other way round.
pairs = np.unique(np.stack([ours, labels]), axis=1)
assert pairs.shape[1] == count
assert np.all(np.diff(np.bincount(ours)) <= 0), "the largest come first"
print(f"components: {count}")
