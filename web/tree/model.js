// The record of a search as nodes: the format is described in docs/search.md. Blocks may arrive one at a time while the
// search runs. Candidates of a block with the same tokens are folded into one node that counts them.
const fixed = (x, digits = 3) => x === undefined || x === null ? "\u2013"
  : (Number(x.toFixed(digits)) < 0 ? MINUS : "") + Math.abs(x).toFixed(digits);
const with_sign = (x, digits = 3) => (Number(x.toFixed(digits)) > 0 ? "+" : "") + fixed(x, digits);

class TraceModel {
  constructor(trace = {}) {
    this.question = trace.question ?? "";
    this.settings = trace.settings ?? {};
    this.prompts = trace.prompts ?? {};
    this.texts = {...trace.texts};  // by token; blocks and candidates may bring more
    this.prompt_texts = trace.prompt_texts ?? {};
    this.blocks = [];        // the nodes of each block, folded
    this.nodes = new Map();  // by the id of any candidate; copies lead to the node that counts them
    this.pool = [];
    this.selected = undefined;
    this.contrast = false;   // some candidate was scored under two contexts
    for (const block of trace.blocks ?? []) this.add_block(block);
    if (trace.pool) this.finish(trace);
  }
  add_block(block) {
    Object.assign(this.texts, block.texts);
    const number = this.blocks.length, folded = new Map(), nodes = [];
    for (const {texts, ...candidate} of block.candidates) {
      if (texts) candidate.tokens.forEach((token, i) => { this.texts[token] = texts[i]; });
      const parent = candidate.parent === null ? undefined : this.nodes.get(candidate.parent);
      const key = `${parent ? parent.id : ""}|${candidate.tokens.join()}`, twin = folded.get(key);
      if (twin) {
        twin.copies.push(candidate.id);
        if (twin.fate === "duplicate") twin.fate = candidate.fate;
        this.nodes.set(candidate.id, twin);
        continue;
      }
      const length = (parent ? parent.length : 0) + candidate.tokens.length;
      const node = {...candidate, parent, block: number, length, children: [], copies: [candidate.id],
                    value: candidate.rank ?? candidate.score, reward: length ? (candidate.positive - candidate.negative) / length : 0};
      if (candidate.token_positive && candidate.token_positive.length) this.contrast = true;
      if (parent) parent.children.push(node);
      folded.set(key, node);
      this.nodes.set(candidate.id, node);
      nodes.push(node);
    }
    nodes.sort((a, b) => b.value - a.value || a.id - b.id);
    nodes.forEach((node, row) => { node.row = row; });
    this.blocks.push(nodes);
  }
  finish({pool = [], selected}) {
    this.pool = [...new Set(pool.map(id => this.nodes.get(id)).filter(node => node))];
    this.selected = this.nodes.get(selected);
  }
  // The nodes from the first block to this one.
  path(node) {
    const nodes = [];
    for (let at = node; at; at = at.parent) nodes.unshift(at);
    return nodes;
  }
  token_text(token) { return this.texts[token] ?? `\u27e8${token}\u27e9`; }
  // The tokens of an answer: {id, text, base, positive, negative, reward, cumulative, first} each; the last four only with contexts.
  tokens(node) {
    const tokens = [];
    let cumulative = 0;
    for (const part of this.path(node)) part.tokens.forEach((id, i) => {
      const token = {id, text: this.token_text(id), base: part.token_base && part.token_base[i], first: i === 0 && part.block > 0};
      if (part.token_positive && part.token_positive.length) {
        token.positive = part.token_positive[i];
        token.negative = part.token_negative[i];
        token.reward = token.positive - token.negative;
        token.cumulative = cumulative += token.reward;
      }
      tokens.push(token);
    });
    return tokens;
  }
  text(node) { return this.tokens(node).map(token => token.text).join(""); }
  // Without the control token that ends it.
  answer_text(node) { return this.text(node).replace(/(<\|[^<>|]*\|>|<\/s>|<eos>|<end_of_turn>)+$/, ""); }
  prompt_text(name) { return this.prompt_texts[name] ?? (this.prompts[name] ?? []).map(id => this.token_text(id)).join(""); }
  // s(a) at another steering strength, from the recorded sums.
  score_at(node, steer) {
    const total = node.base + steer * (node.positive - node.negative);
    return this.settings.aggregate === "sum" ? total : total / node.length;
  }
  // Between the worst beam that went on and the best that was pruned; undefined where a block pruned none.
  pruning_line(number) {
    let worst = Infinity, best = -Infinity;
    for (const node of this.blocks[number]) {
      if (node.fate === "kept") worst = Math.min(worst, node.value);
      if (node.fate === "pruned") best = Math.max(best, node.value);
    }
    return Number.isFinite(worst) && Number.isFinite(best) ? (worst + best) / 2 : undefined;
  }
  // The node to look at first: the answer, or the best of the newest block.
  best() { return this.selected ?? (this.blocks.length ? this.blocks.at(-1)[0] : undefined); }
}
