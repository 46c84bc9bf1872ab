// A made-up trace of any size for the tests of the tree: arguments are the number of blocks and of candidates per block.
function large_trace(blocks, candidates) {
  let state = 7, id = 0, parents = [];
  const random = () => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648;
  const trace = {settings: {method: "cbs", steer: 0.5, aggregate: "mean"}, question: "large", prompts: {}, texts: {1: " a", 2: " b"}, blocks: []};
  for (let b = 0; b < blocks; ++b) {
    const list = [];
    for (let i = 0; i < candidates; ++i) {
      const parent = b ? parents[i % parents.length] : undefined, base = -random() * 3, positive = -random() * 3, negative = -random() * 3;
      const sums = ["base", "positive", "negative"].map((name, k) => (parent ? parent[name] : 0) + [base, positive, negative][k]);
      list.push({id: id++, parent: parent ? parent.id : null, tokens: [1, 2 + i], base: sums[0], positive: sums[1], negative: sums[2],
                 score: (sums[0] + 0.5 * (sums[1] - sums[2])) / (2 * (b + 1)), fate: "pruned", token_base: [base / 2, base / 2],
                 token_positive: [positive / 2, positive / 2], token_negative: [negative / 2, negative / 2]});
    }
    parents = list.toSorted((x, y) => y.score - x.score).slice(0, Math.ceil(candidates / 4));
    for (const one of parents) one.fate = b + 1 < blocks ? "kept" : "finished";
    trace.blocks.push({candidates: list});
  }
  return {...trace, pool: parents.map(one => one.id), selected: parents[0].id};
}
