"""Compares an analysis with networkx. Arguments: a directory with arcs.txt and one file per column."""

import math
import sys
from collections import Counter
from pathlib import Path

import networkx as nx
import numpy as np
from scipy.sparse.linalg import svds

directory = Path(sys.argv[1])
nodes = int((directory / "nodes.txt").read_text())


def column(name, kind=float):
    return [kind(line) for line in (directory / f"{name}.txt").read_text().split()]


def close(name, ours, theirs, within):
    assert len(ours) == nodes, name
    worst = max(range(nodes), key=lambda node: abs(ours[node] - theirs[node]))
    apart = abs(ours[worst] - theirs[worst])
    assert apart <= within, f"{name} of node {worst}: ours {ours[worst]}, theirs {theirs[worst]}"
    print(f"{name}: maximum difference {apart:.2e}")


graph = nx.DiGraph()
graph.add_nodes_from(range(nodes))
for line in (directory / "arcs.txt").read_text().splitlines():
    source, target, weight = map(int, line.split())
    graph.add_edge(source, target, weight=weight)

for name, weight in ("pagerank", None), ("link-rank", "weight"):
    theirs = nx.pagerank(graph, alpha=0.85, tol=1e-14, max_iter=1000, weight=weight)
    close(name, column(name), theirs, 1e-6)

# HITS without self-links; vectors of Euclidean length 1.
others = graph.copy()
others.remove_edges_from(list(nx.selfloop_edges(others)))
matrix = nx.to_scipy_sparse_array(others, nodelist=range(nodes), weight=None, dtype=float)
left, values, right = svds(matrix, k=2)
assert values[1] > values[0] * 1.0001, "the graph has no single leading pair"
close("hub", column("hub"), np.abs(left[:, 1]), 1e-6)
close("authority", column("authority"), np.abs(right[1]), 1e-6)

close("in-degree", column("in-degree"), dict(graph.in_degree), 0)
close("out-degree", column("out-degree"), dict(graph.out_degree), 0)

# Components: the same sets, the largest is number 0.
ours = {}
for node, component in enumerate(column("component", int)):
    ours.setdefault(component, set()).add(node)
theirs = sorted(nx.strongly_connected_components(graph), key=len, reverse=True)
assert sorted(map(sorted, ours.values())) == sorted(map(sorted, theirs))
sizes = [len(ours[component]) for component in sorted(ours)]
assert sizes == sorted(sizes, reverse=True)
print(f"components: {len(theirs)}, the largest of {len(theirs[0])}")

# The bow tie, by its definition.
main = ours[0]
one = next(iter(main))
out = nx.descendants(graph, one) - main
into = nx.ancestors(graph, one) - main
rest = graph.subgraph(set(graph) - main - into - out)


def reached(graph, sources):
    seen, open_nodes = set(), list(sources)
    while open_nodes:
        for to in graph.successors(open_nodes.pop()):
            if to in rest and to not in seen:
                seen.add(to)
                open_nodes.append(to)
    return seen


from_in, to_out = reached(graph, into), reached(graph.reverse(), out)


def part(node):
    if node in main:
        straight_in = any(source in into for source in graph.predecessors(node))
        straight_out = any(target in out for target in graph.successors(node))
        return {(1, 1): "main-main", (1, 0): "main-in", (0, 1): "main-out", (0, 0): "main-norm"}[
            straight_in, straight_out
        ]
    if node in into:
        return "in"
    if node in out:
        return "out"
    return {(1, 1): "tubes", (0, 0): "islands"}.get((node in from_in, node in to_out), "tendrils")


ours = (directory / "part.txt").read_text().split()
theirs = [part(node) for node in range(nodes)]
assert ours == theirs, [node for node in range(nodes) if ours[node] != theirs[node]][:5]
print(f"parts: {dict(Counter(theirs))}")

# Distances: exact for a graph of this size.
lengths = Counter()
for _, reached_from in nx.all_pairs_shortest_path_length(graph):
    lengths.update(reached_from.values())
del lengths[0]
pairs = sum(lengths.values())
average = sum(length * count for length, count in lengths.items()) / pairs
ours = dict(line.split() for line in (directory / "distances.txt").read_text().splitlines())
print(f"distances: {average:.3f}, ours {ours}")
assert math.isclose(float(ours["pairs"]), pairs, rel_tol=1e-6), (ours, pairs)
assert math.isclose(float(ours["average"]), average, rel_tol=1e-6), (ours, average)
total = 0
for length in sorted(lengths):
    if total + lengths[length] >= 0.9 * pairs:
        diameter = length - 1 + (0.9 * pairs - total) / lengths[length]
        break
    total += lengths[length]
assert abs(float(ours["effective_diameter"]) - diameter) < 1e-6, (ours, diameter)

# Sites: the weight is the number of arcs between their pages.
site_of = column("site", int)
sites = nx.DiGraph()
sites.add_nodes_from(range(max(site_of) + 1))
for source, target in graph.edges:
    source, target = site_of[source], site_of[target]
    if source != target:
        weight = sites.get_edge_data(source, target, {"weight": 0})["weight"]
        sites.add_edge(source, target, weight=weight + 1)
nodes = len(sites)
close("site-rank", column("site-rank"), nx.pagerank(sites, alpha=0.85, tol=1e-14, max_iter=1000), 1e-6)
close("site in-degree", column("site-in-degree"), dict(sites.in_degree), 0)
harmonic = nx.harmonic_centrality(sites)
close("harmonic", column("harmonic"), harmonic, 0.15 * max(harmonic.values()))
