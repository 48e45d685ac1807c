"""Compares PageRank and components of a large graph with scipy. Arguments: a directory with arcs and columns as raw numbers."""

import sys
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

directory = Path(sys.argv[1])
arcs = np.fromfile(directory / "arcs", dtype="<u4").reshape(-1, 2)
ranks = np.fromfile(directory / "pagerank", dtype="<f8")
ours = np.fromfile(directory / "component", dtype="<u4")
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
print(f"PageRank: maximum difference {apart:.2e}")
assert apart < 1e-8

count, labels = connected_components(matrix, directed=True, connection="strong")
assert count == ours.max() + 1
# The same sets: our numbers correspond one to one with theirs.
pairs = np.unique(np.stack([ours, labels]), axis=1)
assert pairs.shape[1] == count
assert np.all(np.diff(np.bincount(ours)) <= 0), "the largest come first"
print(f"components: {count}")
